import type { Decoded, Layer } from "./layer.ts";
import { describeIgmp, describeOspf, describePim, describeVrrp } from "./routing.ts";
import { describeTcp, describeUdp } from "./transport.ts";

/** Decodes an IP packet. `length`: its bytes on the wire. */
interface Carried {
  readonly protocol: number;
  readonly from: string;
  readonly to: string;
  readonly length: number;
}

export function describeIpv4(ip: Layer, decoded: Decoded): void {
  decoded.protocols.push("ip");
  const header = (ip.u8(0) & 15) * 4;
  const total = ip.u16(2);
  const [from, to, protocol] = [ip.ipv4(12), ip.ipv4(16), ip.u8(9)];
  decoded.summary = `${from} → ${to} IPv4 protocol ${protocol}`;
  const offset = (ip.u16(6) & 0x1fff) * 8;
  if (offset > 0) {
    decoded.summary = `${from} → ${to} IPv4 fragment at ${offset} of packet ${ip.u16(4)}`;
    return;
  }
  // 0: the packet is larger than the field allows, and a network card would split it.
  const length = total === 0 ? ip.length - header : total - header;
  describeCarried(ip.inner(header, length), decoded, { protocol, from, to, length });
}

/** Headers between IPv6 and its payload: hop-by-hop, routing, fragment, authentication, destination options. */
const extensions: ReadonlySet<number> = new Set([0, 43, 44, 51, 60]);

export function describeIpv6(ip: Layer, decoded: Decoded): void {
  decoded.protocols.push("ipv6");
  const [from, to] = [ip.ipv6(8), ip.ipv6(24)];
  let protocol = ip.u8(6);
  let at = 40;
  const end = 40 + ip.u16(4);
  decoded.summary = `${from} → ${to} IPv6 next header ${protocol}`;
  while (extensions.has(protocol)) {
    if (protocol === 44 && ip.u16(at + 2) >> 3 !== 0) {
      decoded.summary = `${from} → ${to} IPv6 fragment at ${ip.u16(at + 2) & 0xfff8}`;
      return;
    }
    const size = protocol === 44 ? 8 : protocol === 51 ? (ip.u8(at + 1) + 2) * 4 : (ip.u8(at + 1) + 1) * 8;
    protocol = ip.u8(at);
    at += size;
  }
  describeCarried(ip.inner(at, end - at), decoded, { protocol, from, to, length: end - at });
}

function describeCarried(inner: Layer, decoded: Decoded, { protocol, from, to, length }: Carried): void {
  const way = `${from} → ${to}`;
  switch (protocol) {
    case 1:
      describeIcmp(inner, decoded, way);
      break;
    case 2:
      describeIgmp(inner, decoded, way);
      break;
    case 4:
      describeIpv4(inner, decoded);
      break;
    case 6:
      describeTcp(inner, decoded, from, to, length);
      break;
    case 17:
      describeUdp(inner, decoded, from, to);
      break;
    case 41:
      describeIpv6(inner, decoded);
      break;
    case 47:
      describeGre(inner, decoded, way);
      break;
    case 50:
      named(decoded, "esp", `${way} ESP`);
      break;
    case 51:
      named(decoded, "ah", `${way} AH`);
      break;
    case 46:
      named(decoded, "rsvp", `${way} RSVP`);
      break;
    case 58:
      describeIcmpv6(inner, decoded, way);
      break;
    case 88:
      named(decoded, "eigrp", `${way} EIGRP`);
      break;
    case 89:
      describeOspf(inner, decoded, way);
      break;
    case 103:
      describePim(inner, decoded, way);
      break;
    case 112:
      describeVrrp(inner, decoded, way);
      break;
    case 115:
      named(decoded, "l2tp", `${way} L2TPv3`);
      break;
    case 132:
      named(decoded, "sctp", `${way} SCTP`);
      break;
  }
}

function named(decoded: Decoded, protocol: string, summary: string): void {
  decoded.protocols.push(protocol);
  decoded.summary = summary;
}

function describeGre(gre: Layer, decoded: Decoded, way: string): void {
  decoded.protocols.push("gre");
  decoded.summary = `${way} GRE`;
  const flags = gre.u16(0);
  const header = 4 + [0x8000, 0x2000, 0x1000].reduce((sum, bit) => sum + ((flags & bit) === 0 ? 0 : 4), 0);
  const type = gre.u16(2);
  if (type === 0x0800) describeIpv4(gre.inner(header), decoded);
  else if (type === 0x86dd) describeIpv6(gre.inner(header), decoded);
}

const unreachable = ["network", "host", "protocol", "port", "fragmentation needed"];

function describeIcmp(icmp: Layer, decoded: Decoded, way: string): void {
  decoded.protocols.push("icmp");
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
  decoded.summary = `${way} ICMP ${what}`;
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

function describeIcmpv6(icmp: Layer, decoded: Decoded, way: string): void {
  decoded.protocols.push("icmpv6");
  const type = icmp.u8(0);
  const what =
    type === 128 || type === 129
      ? `echo ${type === 128 ? "request" : "reply"} id ${icmp.u16(4)} seq ${icmp.u16(6)}`
      : type === 135
        ? `who has ${icmp.ipv6(8)}?`
        : type === 136
          ? `${icmp.ipv6(8)} is here`
          : (icmpv6Types[type] ?? `type ${type}`);
  decoded.summary = `${way} ICMPv6 ${what}`;
}
