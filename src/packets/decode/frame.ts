import { tellIpv4, tellIpv6 } from "./ip.ts";
import { Layer, type Story } from "./layer.ts";
import { tellIsis } from "./routing.ts";
import { tellArp, tellLldp, tellSlow, tellStp } from "./switching.ts";

export interface DecodedFrame {
  /** From the outside in, as tshark calls them: eth, vlan, ip, tcp, bgp … */
  readonly protocols: readonly string[];
  /** One line for people. */
  readonly summary: string;
}

/**
 * What an Ethernet frame says, in one line. Never throws: of a frame that is cut off or broken, what is there is told.
 * @param data from the destination address on; may be less than was on the wire
 */
export function decodeFrame(data: Uint8Array): DecodedFrame {
  const story: Story = { protocols: ["eth"], summary: "" };
  try {
    const frame = new Layer(data);
    story.summary = `${frame.mac(6)} → ${frame.mac(0)} Ethernet`;
    tellType(frame, 12, story);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    story.summary = `${story.summary || "Ethernet"} (cut short)`;
  }
  return story;
}

function tellType(frame: Layer, at: number, story: Story): void {
  const type = frame.u16(at);
  const inner = frame.inner(at + 2);
  if (type < 0x0600) {
    tellLlc(frame.inner(at + 2, type), story);
    return;
  }
  switch (type) {
    case 0x0800:
      tellIpv4(inner, story);
      break;
    case 0x0806:
      tellArp(inner, story);
      break;
    case 0x86dd:
      tellIpv6(inner, story);
      break;
    case 0x8100:
    case 0x88a8:
    case 0x9100: {
      const tag = inner.u16(0);
      story.protocols.push("vlan");
      story.summary = `${story.summary} VLAN ${tag & 0xfff}`;
      const before = story.summary;
      tellType(frame, at + 4, story);
      // What is inside tells more; that it was tagged is told with it.
      if (story.summary !== before) story.summary = `VLAN ${tag & 0xfff} ${story.summary}`;
      return;
    }
    case 0x8809:
      tellSlow(inner, story);
      break;
    case 0x8847:
    case 0x8848:
      tellMpls(inner, story);
      break;
    case 0x88cc:
      tellLldp(inner, story);
      break;
    default:
      story.summary = `${story.summary} type 0x${type.toString(16).padStart(4, "0")}`;
  }
}

function tellLlc(llc: Layer, story: Story): void {
  story.protocols.push("llc");
  const [target, source] = [llc.u8(0), llc.u8(1)];
  if (target === 0x42 && source === 0x42) {
    tellStp(llc.inner(3), story);
    return;
  }
  if (target === 0xfe && source === 0xfe && llc.u8(3) === 0x83) {
    tellIsis(llc.inner(3), story);
    return;
  }
  if (target === 0xaa && source === 0xaa) {
    const [organization, type] = [llc.hex(3, 3), llc.u16(6)];
    if (organization === "00000c" && type === 0x2000) {
      story.protocols.push("cdp");
      story.summary = `${story.summary} CDP`;
      return;
    }
    // Cisco's per-VLAN spanning tree.
    if (organization === "00000c" && type === 0x010b) {
      tellStp(llc.inner(8), story);
      return;
    }
    story.summary = `${story.summary} SNAP ${organization} type 0x${type.toString(16).padStart(4, "0")}`;
    return;
  }
  story.summary = `${story.summary} LLC 0x${llc.hex(0, 1)}`;
}

function tellMpls(mpls: Layer, story: Story): void {
  story.protocols.push("mpls");
  const labels: number[] = [];
  let at = 0;
  for (let bottom = false; !bottom; at += 4) {
    labels.push(mpls.u32(at) >>> 12);
    bottom = (mpls.u32(at) & 0x100) !== 0;
  }
  const told = `MPLS ${labels.join("/")}`;
  story.summary = told;
  const version = mpls.u8(at) >> 4;
  if (version === 4) tellIpv4(mpls.inner(at), story);
  else if (version === 6) tellIpv6(mpls.inner(at), story);
  if (story.summary !== told) story.summary = `${told} ${story.summary}`;
}
