import { describeIpv4, describeIpv6 } from "./ip.ts";
import { type Decoded, Layer } from "./layer.ts";
import { describeIsis } from "./routing.ts";
import { describeArp, describeLldp, describeSlow, describeStp } from "./switching.ts";

export interface DecodedFrame {
  /** From the outside in, with tshark's names: eth, vlan, ip, tcp, bgp … */
  readonly protocols: readonly string[];
  /** One line for people. */
  readonly summary: string;
}

/**
 * Describes an Ethernet frame in one line. Never throws: a frame that is cut off or broken is described as far as possible.
 * @param data from the destination address on; may be shorter than on the wire
 */
export function decodeFrame(data: Uint8Array): DecodedFrame {
  const decoded: Decoded = { protocols: ["eth"], summary: "" };
  try {
    const frame = new Layer(data);
    decoded.summary = `${frame.mac(6)} → ${frame.mac(0)} Ethernet`;
    describeType(frame, 12, decoded);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    decoded.summary = `${decoded.summary || "Ethernet"} (cut short)`;
  }
  return decoded;
}

function describeType(frame: Layer, at: number, decoded: Decoded): void {
  const type = frame.u16(at);
  const inner = frame.inner(at + 2);
  if (type < 0x0600) {
    describeLlc(frame.inner(at + 2, type), decoded);
    return;
  }
  switch (type) {
    case 0x0800:
      describeIpv4(inner, decoded);
      break;
    case 0x0806:
      describeArp(inner, decoded);
      break;
    case 0x86dd:
      describeIpv6(inner, decoded);
      break;
    case 0x8100:
    case 0x88a8:
    case 0x9100: {
      const tag = inner.u16(0);
      decoded.protocols.push("vlan");
      decoded.summary = `${decoded.summary} VLAN ${tag & 0xfff}`;
      const before = decoded.summary;
      describeType(frame, at + 4, decoded);
      // The inner packet is more important; the tag is mentioned with it.
      if (decoded.summary !== before) decoded.summary = `VLAN ${tag & 0xfff} ${decoded.summary}`;
      return;
    }
    case 0x8809:
      describeSlow(inner, decoded);
      break;
    case 0x8847:
    case 0x8848:
      describeMpls(inner, decoded);
      break;
    case 0x88cc:
      describeLldp(inner, decoded);
      break;
    default:
      decoded.summary = `${decoded.summary} type 0x${type.toString(16).padStart(4, "0")}`;
  }
}

function describeLlc(llc: Layer, decoded: Decoded): void {
  decoded.protocols.push("llc");
  const [target, source] = [llc.u8(0), llc.u8(1)];
  if (target === 0x42 && source === 0x42) {
    describeStp(llc.inner(3), decoded);
    return;
  }
  if (target === 0xfe && source === 0xfe && llc.u8(3) === 0x83) {
    describeIsis(llc.inner(3), decoded);
    return;
  }
  if (target === 0xaa && source === 0xaa) {
    const [organization, type] = [llc.hex(3, 3), llc.u16(6)];
    if (organization === "00000c" && type === 0x2000) {
      decoded.protocols.push("cdp");
      decoded.summary = `${decoded.summary} CDP`;
      return;
    }
    // Cisco's per-VLAN spanning tree.
    if (organization === "00000c" && type === 0x010b) {
      describeStp(llc.inner(8), decoded);
      return;
    }
    decoded.summary = `${decoded.summary} SNAP ${organization} type 0x${type.toString(16).padStart(4, "0")}`;
    return;
  }
  decoded.summary = `${decoded.summary} LLC 0x${llc.hex(0, 1)}`;
}

function describeMpls(mpls: Layer, decoded: Decoded): void {
  decoded.protocols.push("mpls");
  const labels: number[] = [];
  let at = 0;
  for (let bottom = false; !bottom; at += 4) {
    labels.push(mpls.u32(at) >>> 12);
    bottom = (mpls.u32(at) & 0x100) !== 0;
  }
  const label = `MPLS ${labels.join("/")}`;
  decoded.summary = label;
  const version = mpls.u8(at) >> 4;
  if (version === 4) describeIpv4(mpls.inner(at), decoded);
  else if (version === 6) describeIpv6(mpls.inner(at), decoded);
  if (decoded.summary !== label) decoded.summary = `${label} ${decoded.summary}`;
}
