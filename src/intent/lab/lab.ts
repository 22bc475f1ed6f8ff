import type { LabShape } from "../shapes/shape.ts";
import type { LabTest } from "./lab-test.ts";
import type { NodeBoot } from "./node-boot.ts";
import type { Switching } from "./switching.ts";

/**
 * Lab: the user's intent after YAML, inheritance (defaults → kinds → groups → node) and files are resolved. Plain data, every list sorted by key
 * (code-unit order). An absent field means the default of the host or the template. The engine fills in template defaults, because it has the
 * catalogue.
 */
export interface Lab {
  readonly name: string;
  readonly description?: string;
  /** Absent: no management network. */
  readonly management?: Management;
  readonly nodes: readonly LabNode[];
  readonly networks: readonly LabNetwork[];
  readonly links: readonly LabLink[];
  readonly trafficFilters: readonly TrafficFilter[];
  readonly texts: readonly LabText[];
  /** When the lab stops by itself; absent: never. Not a part of the structure: plans and hosts ignore it. */
  readonly lease?: LabLease;
  /** Where it shall be in a fleet; absent: anywhere. Not a part of the structure: plans and hosts ignore it. */
  readonly place?: LabPlacement;
  /** In the order of drawing; absent if there are none. Not a part of the structure: plans and hosts ignore them. */
  readonly shapes?: readonly LabShape[];
  /** In the order of the text; absent if there are none. Not a part of the structure: plans and hosts ignore them. */
  readonly tests?: readonly LabTest[];
  /** Sorted by node; absent if no node has any. Not a part of the structure. */
  readonly boots?: readonly NodeBoot[];
  /**
   * By node key, the fields whose values are only in defaults, kinds or groups: a node that cannot take them goes without. Only in labs that were read from
   * a text; absent if there are none. Not a part of the structure.
   */
  readonly inherited?: Readonly<Record<string, readonly string[]>>;
}

/** The machine of a lab in a fleet. It has a machine, labels, or both. */
export interface LabPlacement {
  /** Name of the machine. */
  readonly machine?: string;
  /** The nodes are spread over the machines of the fleet. groups: nodes with the same label `group` stay together. */
  readonly spread?: "nodes" | "groups";
  /** Labels that the machine must have, sorted by key. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** When a lab stops by itself. It has a time, an idle time, or both: the earlier one ends it. */
export interface LabLease {
  /** Seconds after the begin of the lease. */
  readonly for?: number;
  /** Seconds without use. */
  readonly idle?: number;
  readonly atEnd: LeaseEnd;
}

export const leaseEnds = ["stop", "destroy"] as const;

/** stop: the nodes are stopped. destroy: the lab is removed with its disks. */
export type LeaseEnd = (typeof leaseEnds)[number];

/** Limits of both times, seconds. */
export const leaseLimits = { min: 60, max: 366 * 86_400 } as const;

/** The management network of a lab: an interface of each node that the machine reaches. */
export interface Management {
  /** In its shortest notation, such as 172.20.20.0/24. Absent: the host chooses a network. */
  readonly ipv4Subnet?: string;
  /** In its shortest notation, or auto: the host chooses one. Absent: no IPv6. */
  readonly ipv6Subnet?: string;
}

/** Name of the interface of each node in the management network. */
export const managementInterface = "mgmt0";

export type Scalar = string | number | boolean;

/** missing: if the host does not have the image. always: before each start. never: the host must have it. */
export const pullPolicies = ["missing", "always", "never"] as const;

export type PullPolicy = (typeof pullPolicies)[number];

export interface LabNode {
  /** The node's key in the intent. */
  readonly key: string;
  /** Shown name; the key unless given. */
  readonly name: string;
  readonly template: string;
  readonly image?: string;
  /** When the host fetches the image from its registry. Absent: missing. */
  readonly pull?: PullPolicy;
  readonly icon?: string;
  /** A node with a Linux kernel of its own, instead of the machine's. */
  readonly kernel?: "own";
  /** The text itself; a reference to a file is resolved. */
  readonly startupConfig?: string;
  /** Path of the text in `files`, if it came from there. Kept so that printing gives the reference back. */
  readonly startupConfigFile?: string;
  /** Files in the node by absolute path; absent: none. Each is written when the node starts, and when it changes. */
  readonly files?: Readonly<Record<string, LabFile>>;
  /** Path in the node → path of the text in `files` of the lab, if it came from there. Kept so that printing gives the reference back. */
  readonly fileSources?: Readonly<Record<string, string>>;
  /** Files and folders of the machine that the node sees, as bindText writes them, sorted. Absent: none. */
  readonly binds?: readonly string[];
  /** How a VLAN-aware switch forwards frames. Absent: a switch without VLANs. */
  readonly switching?: Switching;
  /** Ports of the service's machine that lead to ports of the node, as portText writes them, sorted. Absent: none. */
  readonly ports?: readonly string[];
  /** Address in the management network. Absent: the host assigns one. */
  readonly mgmtIpv4?: string;
  /** The same for IPv6, if it has that. */
  readonly mgmtIpv6?: string;
  /** Public keys that log in by SSH as root. Absent: the node starts no SSH server. */
  readonly sshKeys?: readonly string[];
  readonly exec: readonly string[];
  readonly cpu?: number;
  /** MiB. */
  readonly ram?: number;
  /** Number of interfaces; absent: as many as the links need. */
  readonly ethernet?: number;
  /** Declared power; absent: new nodes start on deploy, existing nodes keep their power. */
  readonly start?: boolean;
  readonly position?: Position;
  readonly env: Readonly<Record<string, string>>;
  readonly attributes: Readonly<Record<string, Scalar>>;
  readonly labels: Readonly<Record<string, string>>;
}

export interface LabFile {
  readonly text: string;
  /** Permission bits. Default: 0644. */
  readonly mode?: number;
  /** USER or USER:GROUP of the node. Default: root. */
  readonly owner?: string;
}

export interface Position {
  readonly x: number;
  readonly y: number;
}

export interface LabNetwork {
  readonly key: string;
  /** Shown name; the key unless given. */
  readonly name: string;
  /** bridge, nat, or another type of the host's catalogue. */
  readonly type: string;
  readonly icon?: string;
  readonly position?: Position;
  /** Set exactly for type vxlan. */
  readonly vxlan?: Vxlan;
}

/** The tunnel to a network of the same number on another machine. */
export interface Vxlan {
  /** IPv4 address of the other machine. */
  readonly remote: string;
  /** The VXLAN network identifier, the same on both machines. */
  readonly vni: number;
  /** UDP port of both machines. Default: 4789. */
  readonly port?: number;
  /** Never in an intent: it is a link of a lab that is spread over machines, and this is the machine's half. */
  readonly cut?: CutHalf;
}

/** The half of a link whose ends are on different machines. */
export interface CutHalf {
  /** The largest that fits into the packets between the machines. */
  readonly mtu: number;
  /** The node at the other end does not run: this end has no carrier. */
  readonly isDown?: true;
}

/** The UDP port of VXLAN that IANA has assigned. */
export const vxlanPort = 4789;

export const vxlanLimits = { vni: { min: 1, max: 16_777_215 }, port: { min: 1, max: 65_535 } } as const;

/** VNIs of links between machines of a fleet. Users of a fleet cannot name them for networks of their own. */
export const spreadVnis = { first: 8_388_608, last: vxlanLimits.vni.max } as const;

/** Bytes that VXLAN adds to a frame's payload on IPv4: the Ethernet header, and headers of VXLAN, UDP and IPv4. */
export const vxlanOverhead = 50;

export type Endpoint = { readonly node: string; readonly interface: string } | { readonly network: string };

export interface LabLink {
  /** Canonical: its two endpoints as text, sorted, joined by " -- " (see linkKey). */
  readonly key: string;
  /** As written: side a is endpoints[0]. A link to a network has the node first. */
  readonly endpoints: readonly [Endpoint, Endpoint];
  /** Impairment of the traffic that leaves side a / side b; absent side: none. */
  readonly quality?: { readonly a?: Quality; readonly b?: Quality };
  readonly suspended?: { readonly a: boolean; readonly b: boolean };
  readonly mtu?: number;
}

/** delay, jitter: ms 0–10,000; loss: % 0–100; bandwidth: kbit/s 0–10,000,000 (0 = unlimited). */
export interface Quality {
  readonly delay?: number;
  readonly jitter?: number;
  readonly loss?: number;
  readonly bandwidth?: number;
}

export interface TrafficFilter {
  readonly name: string;
  readonly color?: string;
  /** A pcap filter. */
  readonly match: string;
  readonly nodes?: readonly string[];
  readonly links?: readonly string[];
}

export interface LabText {
  readonly text: string;
  readonly x: number;
  readonly y: number;
}

/** "r1:eth1" or the network's key. */
export function endpointText(endpoint: Endpoint): string {
  return "node" in endpoint ? `${endpoint.node}:${endpoint.interface}` : endpoint.network;
}

/** Returns the same key for both orders of the endpoints. */
export function linkKey(a: Endpoint, b: Endpoint): string {
  const [x, y] = [endpointText(a), endpointText(b)];
  return x < y ? `${x} -- ${y}` : `${y} -- ${x}`;
}
