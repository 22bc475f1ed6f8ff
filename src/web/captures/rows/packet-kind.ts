import type { CapturePacketRow } from "../../../contract/schemas/captures.ts";

/** The group of a packet, which determines its colour. */
export type PacketKind = "arp" | "icmp" | "routing" | "switching" | "services" | "tcp" | "udp" | "problem" | "other";

const kinds: Readonly<Record<string, PacketKind>> = {
  arp: "arp",
  icmp: "icmp",
  icmpv6: "icmp",
  igmp: "icmp",
  ...named("routing", ["ospf", "bgp", "isis", "rip", "ripng", "eigrp", "ldp", "pim", "bfd", "vrrp", "hsrp", "babel", "openfabric"]),
  ...named("switching", ["stp", "lldp", "cdp", "lacp", "slow", "mrp", "vtp", "dtp", "eapol"]),
  ...named("services", ["dns", "mdns", "llmnr", "nbns", "dhcp", "dhcpv6", "bootp", "ntp", "tftp", "snmp", "syslog"]),
  tcp: "tcp",
  udp: "udp",
};

/** Layers that carry or are carried, and do not name the protocol of a packet. */
const genericLayers = new Set(["data", "data-text-lines", "media", "eth", "ethertype", "llc", "frame"]);

/** Returns the group of the innermost protocol that has one. */
export function packetKind({ protocols, summary }: Pick<CapturePacketRow, "protocols" | "summary">): PacketKind {
  if (protocols.some((name) => name.startsWith("_ws.")) || /^\[(TCP|Malformed)/.test(summary)) return "problem";
  for (const name of protocols.toReversed()) {
    const kind = kinds[family(name)];
    if (kind !== undefined) return kind;
  }
  return "other";
}

/** Returns the innermost protocol in its usual spelling: OSPF, ISIS, TLS. */
export function protocolName({ protocols }: Pick<CapturePacketRow, "protocols">): string {
  const name =
    protocols.findLast((one) => !genericLayers.has(one) && !one.startsWith("_ws.")) ?? protocols.findLast((one) => !one.startsWith("_ws."));
  return name === undefined ? "" : family(name).toUpperCase();
}

/** Returns the protocol of a dissector: isis for isis.hello. */
function family(name: string): string {
  return name.split(".", 1)[0]!;
}

function named(kind: PacketKind, names: readonly string[]): Readonly<Record<string, PacketKind>> {
  return Object.fromEntries(names.map((name) => [name, kind]));
}
