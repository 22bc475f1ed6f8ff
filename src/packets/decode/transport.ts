import type { Decoded, Layer } from "./layer.ts";
import { describeBgp } from "./routing.ts";

const flagNames = ["FIN", "SYN", "RST", "PSH", "ACK", "URG"];

/** Protocols that are shown only by name, by port. */
const udpNames: Readonly<Record<number, readonly [string, string]>> = {
  53: ["dns", "DNS"],
  69: ["tftp", "TFTP"],
  123: ["ntp", "NTP"],
  161: ["snmp", "SNMP"],
  162: ["snmp", "SNMP trap"],
  500: ["isakmp", "IKE"],
  514: ["syslog", "syslog"],
  520: ["rip", "RIP"],
  521: ["ripng", "RIPng"],
  546: ["dhcpv6", "DHCPv6"],
  547: ["dhcpv6", "DHCPv6"],
  646: ["ldp", "LDP hello"],
  1985: ["hsrp", "HSRP"],
  3784: ["bfd", "BFD control"],
  4789: ["vxlan", "VXLAN"],
};

/** `from` and `to` are addresses without ports. `carried`: bytes of the segment on the wire, header included. */
export function describeTcp(tcp: Layer, decoded: Decoded, from: string, to: string, carried: number): void {
  decoded.protocols.push("tcp");
  const [source, target] = [tcp.u16(0), tcp.u16(2)];
  const way = `${port(from, source)} → ${port(to, target)}`;
  const header = (tcp.u8(12) >> 4) * 4;
  const flags = flagNames.filter((_, bit) => (tcp.u8(13) & (1 << bit)) !== 0);
  const length = Math.max(0, carried - header);
  decoded.summary = `${way} TCP ${flags.join(" ") || "no flags"} seq ${tcp.u32(4)}${flags.includes("ACK") ? ` ack ${tcp.u32(8)}` : ""} length ${length}`;
  if (source === 179 || target === 179) describeBgp(tcp.inner(header), decoded, way);
}

export function describeUdp(udp: Layer, decoded: Decoded, from: string, to: string): void {
  decoded.protocols.push("udp");
  const [source, target] = [udp.u16(0), udp.u16(2)];
  const way = `${port(from, source)} → ${port(to, target)}`;
  decoded.summary = `${way} UDP length ${Math.max(0, udp.u16(4) - 8)}`;
  const inner = udp.inner(8);
  if ((source === 67 && target === 68) || (source === 68 && target === 67)) {
    describeDhcp(inner, decoded, way);
    return;
  }
  const [protocol, name] = udpNames[target] ?? udpNames[source] ?? [];
  if (protocol === undefined) return;
  decoded.protocols.push(protocol);
  decoded.summary = `${way} ${name}`;
  if (protocol === "dns" && inner.length > 12)
    decoded.summary = `${way} DNS ${(inner.u8(2) & 0x80) === 0 ? "query" : "answer"} ${dnsName(inner)}`;
}

function port(address: string, number: number): string {
  return address.includes(":") ? `[${address}]:${number}` : `${address}:${number}`;
}

function dnsName(dns: Layer): string {
  const labels: string[] = [];
  for (let at = 12; labels.length < 128; ) {
    const length = dns.u8(at);
    if (length === 0 || length > 63) break;
    labels.push(dns.text(at + 1, length));
    at += 1 + length;
  }
  return labels.length === 0 ? "." : labels.join(".");
}

const dhcpTypes = ["", "discover", "offer", "request", "decline", "ack", "nak", "release", "inform"];

function describeDhcp(dhcp: Layer, decoded: Decoded, way: string): void {
  decoded.protocols.push("dhcp");
  decoded.summary = `${way} DHCP ${dhcp.mac(28)}`;
  for (let at = 240; at + 2 < dhcp.length && dhcp.u8(at) !== 255; at += dhcp.u8(at) === 0 ? 1 : 2 + dhcp.u8(at + 1)) {
    if (dhcp.u8(at) !== 53) continue;
    const type = dhcp.u8(at + 2);
    decoded.summary = `${way} DHCP ${dhcpTypes[type] ?? `type ${type}`} ${dhcp.mac(28)}`;
  }
}
