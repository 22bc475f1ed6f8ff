import type { Layer, Story } from "./layer.ts";
import { tellIgmp, tellOspf, tellPim, tellVrrp } from "./routing.ts";
import { tellTcp, tellUdp } from "./transport.ts";

/** What an IP packet carries, and between whom. `length`: bytes of it on the wire. */
interface Carried {
  readonly protocol: number;
  readonly from: string;
  readonly to: string;
  readonly length: number;
}

export function tellIpv4(ip: Layer, story: Story): void {
  story.protocols.push("ip");
  const header = (ip.u8(0) & 15) * 4;
  const total = ip.u16(2);
  const [from, to, protocol] = [ip.ipv4(12), ip.ipv4(16), ip.u8(9)];
  story.summary = `${from} → ${to} IPv4 protocol ${protocol}`;
  const offset = (ip.u16(6) & 0x1fff) * 8;
  if (offset > 0) {
    story.summary = `${from} → ${to} IPv4 fragment at ${offset} of packet ${ip.u16(4)}`;
    return;
  }
  // 0: a packet larger than the field can tell, which a network card would cut.
  const length = total === 0 ? ip.length - header : total - header;
  tellCarried(ip.inner(header, length), story, { protocol, from, to, length });
}

/** Headers that lie between IPv6 and what it carries: hop-by-hop, routing, fragment, authentication, destination options. */
const extensions: ReadonlySet<number> = new Set([0, 43, 44, 51, 60]);

export function tellIpv6(ip: Layer, story: Story): void {
  story.protocols.push("ipv6");
  const [from, to] = [ip.ipv6(8), ip.ipv6(24)];
  let protocol = ip.u8(6);
  let at = 40;
  const end = 40 + ip.u16(4);
  story.summary = `${from} → ${to} IPv6 next header ${protocol}`;
  while (extensions.has(protocol)) {
    if (protocol === 44 && ip.u16(at + 2) >> 3 !== 0) {
      story.summary = `${from} → ${to} IPv6 fragment at ${ip.u16(at + 2) & 0xfff8}`;
      return;
    }
    const size = protocol === 44 ? 8 : protocol === 51 ? (ip.u8(at + 1) + 2) * 4 : (ip.u8(at + 1) + 1) * 8;
    protocol = ip.u8(at);
    at += size;
  }
  tellCarried(ip.inner(at, end - at), story, { protocol, from, to, length: end - at });
}

function tellCarried(inner: Layer, story: Story, { protocol, from, to, length }: Carried): void {
  const way = `${from} → ${to}`;
  switch (protocol) {
    case 1:
      tellIcmp(inner, story, way);
      break;
    case 2:
      tellIgmp(inner, story, way);
      break;
    case 4:
      tellIpv4(inner, story);
      break;
    case 6:
      tellTcp(inner, story, from, to, length);
      break;
    case 17:
      tellUdp(inner, story, from, to);
      break;
    case 41:
      tellIpv6(inner, story);
      break;
    case 47:
      tellGre(inner, story, way);
      break;
    case 50:
      named(story, "esp", `${way} ESP`);
      break;
    case 51:
      named(story, "ah", `${way} AH`);
      break;
    case 46:
      named(story, "rsvp", `${way} RSVP`);
      break;
    case 58:
      tellIcmpv6(inner, story, way);
      break;
    case 88:
      named(story, "eigrp", `${way} EIGRP`);
      break;
    case 89:
      tellOspf(inner, story, way);
      break;
    case 103:
      tellPim(inner, story, way);
      break;
    case 112:
      tellVrrp(inner, story, way);
      break;
    case 115:
      named(story, "l2tp", `${way} L2TPv3`);
      break;
    case 132:
      named(story, "sctp", `${way} SCTP`);
      break;
  }
}

function named(story: Story, protocol: string, summary: string): void {
  story.protocols.push(protocol);
  story.summary = summary;
}

function tellGre(gre: Layer, story: Story, way: string): void {
  story.protocols.push("gre");
  story.summary = `${way} GRE`;
  const flags = gre.u16(0);
  const header = 4 + [0x8000, 0x2000, 0x1000].reduce((sum, bit) => sum + ((flags & bit) === 0 ? 0 : 4), 0);
  const type = gre.u16(2);
  if (type === 0x0800) tellIpv4(gre.inner(header), story);
  else if (type === 0x86dd) tellIpv6(gre.inner(header), story);
}

const unreachable = ["network", "host", "protocol", "port", "fragmentation needed"];

function tellIcmp(icmp: Layer, story: Story, way: string): void {
  story.protocols.push("icmp");
  const [type, code] = [icmp.u8(0), icmp.u8(1)];
  const what =
    type === 8 || type === 0
      ? `echo ${type === 8 ? "request" : "reply"} id ${icmp.u16(4)} seq ${icmp.u16(6)}`
      : type === 3
        ? `unreachable: ${unreachable[code] ?? `code ${code}`}`
        : type === 5
          ? `redirect to ${icmp.ipv4(4)}`
          : type === 11
            ? "time exceeded"
            : `type ${type} code ${code}`;
  story.summary = `${way} ICMP ${what}`;
}

const icmpv6Types: Readonly<Record<number, string>> = {
  1: "unreachable",
  2: "packet too big",
  3: "time exceeded",
  4: "parameter problem",
  130: "MLD query",
  131: "MLD report",
  132: "MLD done",
  133: "router solicitation",
  134: "router advertisement",
  137: "redirect",
  143: "MLDv2 report",
};

function tellIcmpv6(icmp: Layer, story: Story, way: string): void {
  story.protocols.push("icmpv6");
  const type = icmp.u8(0);
  const what =
    type === 128 || type === 129
      ? `echo ${type === 128 ? "request" : "reply"} id ${icmp.u16(4)} seq ${icmp.u16(6)}`
      : type === 135
        ? `who has ${icmp.ipv6(8)}?`
        : type === 136
          ? `${icmp.ipv6(8)} is here`
          : (icmpv6Types[type] ?? `type ${type}`);
  story.summary = `${way} ICMPv6 ${what}`;
}
