import type { Layer, Story } from "./layer.ts";

/** What bridges say to each other: STP, LLDP, LACP. */

export function tellArp(arp: Layer, story: Story): void {
  story.protocols.push("arp");
  const [operation, from, to] = [arp.u16(6), arp.ipv4(14), arp.ipv4(24)];
  if (operation === 1) story.summary = from === to ? `ARP ${from} announces itself at ${arp.mac(8)}` : `ARP who has ${to}? tell ${from}`;
  else if (operation === 2) story.summary = `ARP ${from} is at ${arp.mac(8)}`;
  else story.summary = `ARP operation ${operation}`;
}

const portRoles = ["unknown", "alternate", "root", "designated"] as const;

export function tellStp(bpdu: Layer, story: Story): void {
  story.protocols.push("stp");
  const [version, type] = [bpdu.u8(2), bpdu.u8(3)];
  if (type === 0x80) {
    story.summary = "STP topology change notification";
    return;
  }
  const name = version >= 3 ? "MSTP" : version === 2 ? "RSTP" : "STP";
  const flags = bpdu.u8(4);
  const role = version >= 2 ? `, port ${portRoles[(flags >> 2) & 3]}` : "";
  const change = (flags & 1) === 1 ? ", topology change" : "";
  story.summary = `${name} root ${bridge(bpdu, 5)} cost ${bpdu.u32(13)} from ${bridge(bpdu, 17)}${role}${change}`;
}

function bridge(bpdu: Layer, at: number): string {
  const priority = bpdu.u16(at);
  return `${priority & 0xf000}.${priority & 0x0fff}.${bpdu.mac(at + 2)}`;
}

export function tellLldp(lldp: Layer, story: Story): void {
  story.protocols.push("lldp");
  const told: string[] = [];
  for (let at = 0; at + 2 <= lldp.length; ) {
    const type = lldp.u16(at) >> 9;
    const length = lldp.u16(at) & 0x1ff;
    const value = lldp.inner(at + 2, length);
    if (type === 0) break;
    if (type === 1) told.push(`chassis ${lldpId(value, 4)}`);
    if (type === 2) told.push(`port ${lldpId(value, 3)}`);
    if (type === 5) told.push(`system ${value.text(0, value.length)}`);
    at += 2 + length;
  }
  story.summary = `LLDP ${told.join(", ")}`;
}

/** Chassis and port ids begin with what they are; one of the kinds is a MAC address. */
function lldpId(value: Layer, macKind: number): string {
  return value.u8(0) === macKind && value.length === 7 ? value.mac(1) : value.text(1, value.length - 1);
}

export function tellSlow(slow: Layer, story: Story): void {
  if (slow.u8(0) !== 1) {
    story.protocols.push("slow");
    story.summary = `slow protocol ${slow.u8(0)}`;
    return;
  }
  story.protocols.push("lacp");
  story.summary = `LACP from ${slow.mac(6)} key ${slow.u16(12)} port ${slow.u16(16)}`;
}
