import type { CapturePacketRow } from "../../../contract/schemas/captures.ts";

/** What a packet is about, for its colour. */
export type PacketKind = "arp" | "icmp" | "routing" | "switching" | "names" | "tcp" | "udp" | "trouble" | "other";

const kinds: Readonly<Record<string, PacketKind>> = {
  arp: "arp",
  icmp: "icmp",
  icmpv6: "icmp",
  igmp: "icmp",
  ...named("routing", ["ospf", "bgp", "isis", "rip", "ripng", "eigrp", "ldp", "pim", "bfd", "vrrp", "hsrp", "babel", "openfabric"]),
  ...named("switching", ["stp", "lldp", "cdp", "lacp", "slow", "mrp", "vtp", "dtp", "eapol"]),
  ...named("names", ["dns", "mdns", "llmnr", "nbns", "dhcp", "dhcpv6", "bootp", "ntp", "tftp", "snmp", "syslog"]),
  tcp: "tcp",
  udp: "udp",
};

/** What is only carried, and says nothing of who speaks. */
const cargo = new Set(["data", "data-text-lines", "media", "eth", "ethertype", "llc", "frame"]);

/** The innermost protocol that has a colour decides. */
export function packetKind({ protocols, summary }: Pick<CapturePacketRow, "protocols" | "summary">): PacketKind {
  if (protocols.some((name) => name.startsWith("_ws.")) || /^\[(TCP|Malformed)/.test(summary)) return "trouble";
  for (const name of protocols.toReversed()) {
    const kind = kinds[family(name)];
    if (kind !== undefined) return kind;
  }
  return "other";
}

/** The innermost protocol, as people write it: OSPF, ISIS, TLS. */
export function protocolName({ protocols }: Pick<CapturePacketRow, "protocols">): string {
  const name =
    protocols.findLast((one) => !cargo.has(one) && !one.startsWith("_ws.")) ?? protocols.findLast((one) => !one.startsWith("_ws."));
  return name === undefined ? "" : family(name).toUpperCase();
}

/** isis.hello → isis. */
function family(name: string): string {
  return name.split(".", 1)[0]!;
}

function named(kind: PacketKind, names: readonly string[]): Readonly<Record<string, PacketKind>> {
  return Object.fromEntries(names.map((name) => [name, kind]));
}
