import type { Decoded, Layer } from "./layer.ts";

/** Protocols of bridges: STP, LLDP, LACP. */

export function describeArp(arp: Layer, decoded: Decoded): void {
  decoded.protocols.push("arp");
  const [operation, from, to] = [arp.u16(6), arp.ipv4(14), arp.ipv4(24)];
  if (operation === 1) decoded.summary = from === to ? `ARP ${from} announces itself at ${arp.mac(8)}` : `ARP who has ${to}? tell ${from}`;
  else if (operation === 2) decoded.summary = `ARP ${from} is at ${arp.mac(8)}`;
  else decoded.summary = `ARP operation ${operation}`;
}

const portRoles = ["unknown", "alternate", "root", "designated"] as const;

export function describeStp(bpdu: Layer, decoded: Decoded): void {
  decoded.protocols.push("stp");
  const [version, type] = [bpdu.u8(2), bpdu.u8(3)];
  if (type === 0x80) {
    decoded.summary = "STP topology change notification";
    return;
  }
  const name = version >= 3 ? "MSTP" : version === 2 ? "RSTP" : "STP";
  const flags = bpdu.u8(4);
  const role = version >= 2 ? `, port ${portRoles[(flags >> 2) & 3]}` : "";
  const change = (flags & 1) === 1 ? ", topology change" : "";
  decoded.summary = `${name} root ${bridge(bpdu, 5)} cost ${bpdu.u32(13)} from ${bridge(bpdu, 17)}${role}${change}`;
}

function bridge(bpdu: Layer, at: number): string {
  const priority = bpdu.u16(at);
  return `${priority & 0xf000}.${priority & 0x0fff}.${bpdu.mac(at + 2)}`;
}

export function describeLldp(lldp: Layer, decoded: Decoded): void {
  decoded.protocols.push("lldp");
  const parts: string[] = [];
  for (let at = 0; at + 2 <= lldp.length; ) {
    const type = lldp.u16(at) >> 9;
    const length = lldp.u16(at) & 0x1ff;
    const value = lldp.inner(at + 2, length);
    if (type === 0) break;
    if (type === 1) parts.push(`chassis ${lldpId(value, 4)}`);
    if (type === 2) parts.push(`port ${lldpId(value, 3)}`);
    if (type === 5) parts.push(`system ${value.text(0, value.length)}`);
    at += 2 + length;
  }
  decoded.summary = `LLDP ${parts.join(", ")}`;
}

/** Chassis and port ids begin with their kind; one of the kinds is a MAC address. */
function lldpId(value: Layer, macKind: number): string {
  return value.u8(0) === macKind && value.length === 7 ? value.mac(1) : value.text(1, value.length - 1);
}

export function describeSlow(slow: Layer, decoded: Decoded): void {
  if (slow.u8(0) !== 1) {
    decoded.protocols.push("slow");
    decoded.summary = `slow protocol ${slow.u8(0)}`;
    return;
  }
  decoded.protocols.push("lacp");
  decoded.summary = `LACP from ${slow.mac(6)} key ${slow.u16(12)} port ${slow.u16(16)}`;
}
