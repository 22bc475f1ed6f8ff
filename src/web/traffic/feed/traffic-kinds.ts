import type { TrafficFilterData } from "../../../contract/schemas/editing.ts";
import type { TrafficPacket } from "./traffic-packet.ts";

/** A kind of packets with a colour of its own: the packets of a traffic filter of the lab, or of a protocol. */
export interface TrafficKind {
  /** "filter:pings", "protocol:ospf". */
  readonly key: string;
  readonly label: string;
  readonly color: string;
  /** The pcap filter of the packets, for a tooltip. */
  readonly match?: string;
}

/** Colours of filters without a valid colour, visible in both themes. */
const palette = ["#d6336c", "#1c7ed6", "#2f9e44", "#e8590c", "#7950f2", "#0c8599", "#b08900", "#c2255c"];

/** Protocols by key, label, colour and the decoder's names. Each colour is visible in both themes, and none is similar to another. */
const protocols = [
  ["arp", "ARP", "#c0801f", ["arp"]],
  ["icmp", "ICMP", "#cb397c", ["icmp", "icmpv6"]],
  ["ospf", "OSPF", "#a05ef7", ["ospf"]],
  ["bgp", "BGP", "#5c8ee1", ["bgp"]],
  ["isis", "IS-IS", "#dc3dd8", ["isis"]],
  ["rip", "RIP, EIGRP", "#6863c2", ["rip", "ripng", "eigrp"]],
  ["bfd", "BFD", "#c6797d", ["bfd"]],
  ["vrrp", "VRRP, HSRP", "#ab5636", ["vrrp", "hsrp"]],
  ["pim", "PIM, IGMP", "#01816e", ["pim", "igmp"]],
  ["stp", "STP", "#308721", ["stp"]],
  ["lldp", "LLDP, CDP, LACP", "#87962d", ["lldp", "cdp", "lacp", "slow"]],
  ["mpls", "MPLS, LDP", "#f16127", ["mpls", "ldp", "rsvp"]],
  ["vxlan", "VXLAN, GRE, IPsec", "#0d95b3", ["vxlan", "gre", "l2tp", "esp", "ah", "isakmp"]],
  ["dhcp", "DHCP", "#807226", ["dhcp", "dhcpv6"]],
  ["dns", "DNS", "#409d79", ["dns"]],
  ["tcp", "TCP", "#50738f", ["tcp"]],
  ["udp", "UDP", "#92647f", ["udp"]],
  ["other", "other packets", "#8c939b", []],
] as const;

/** The kinds of packets that match no filter of the lab. */
export const protocolKinds: readonly TrafficKind[] = protocols.map(([key, label, color]) => ({ key: `protocol:${key}`, label, color }));

const kindOfName = new Map<string, string>(protocols.flatMap(([key, , , names]) => names.map((name) => [name, key] as const)));
/** Packets in one of these carry packets of other protocols. */
const tunnels = new Set(["mpls", "vxlan"]);

/** Returns the kind of a packet: its filter, or else the tunnel that carries it, or else its innermost known protocol. */
export function kindOf({ filter, protocols: layers }: Pick<TrafficPacket, "filter" | "protocols">): string {
  if (filter !== null) return filterKey(filter);
  const known = layers.flatMap((name) => kindOfName.get(name) ?? []);
  return `protocol:${known.find((kind) => tunnels.has(kind)) ?? known.at(-1) ?? "other"}`;
}

/** Returns the kinds of a lab's traffic filters. */
export function filterKinds(
  filters: readonly Pick<TrafficFilterData, "name" | "color" | "match">[],
  isColor: (text: string) => boolean,
): readonly TrafficKind[] {
  return filters.map(({ name, color, match }, index) => {
    const own = color !== undefined && isColor(color) ? color : undefined;
    return { key: filterKey(name), label: name, color: own ?? palette[index % palette.length]!, match };
  });
}

function filterKey(name: string): string {
  return `filter:${name}`;
}
