/** How a VLAN-aware switch forwards frames. An interface that is not listed is an access port of VLAN 1. */
export interface Switching {
  /** By interface. */
  readonly interfaces?: Readonly<Record<string, SwitchPort>>;
  /** Link aggregation groups by name. */
  readonly lag?: Readonly<Record<string, Lag>>;
  readonly spanningTree?: SpanningTree;
  readonly mirror?: Mirror;
}

/** The VLANs of an interface or of a link aggregation group. */
export interface SwitchPort {
  readonly mode: PortMode;
  /** The VLAN of an access port. Default: 1. */
  readonly vlan?: number;
  /** The VLANs of a trunk: numbers and ranges "20-29", sorted and apart. Absent: all. */
  readonly vlans?: readonly (number | string)[];
  /** The VLAN of untagged frames of a trunk. Absent: 1 if the trunk carries it; otherwise untagged frames are dropped. */
  readonly nativeVlan?: number;
}

export interface Lag extends SwitchPort {
  /** Interfaces, in the order of the text. Without LACP the first one with carrier is used. */
  readonly members: readonly string[];
  /** Default: active. */
  readonly lacp?: LacpMode;
}

export interface SpanningTree {
  readonly mode: SpanningTreeMode;
  /** Priority of the bridge. Default: 32768. */
  readonly priority?: number;
}

/** Copies frames that enter or leave the ports `from` to the interface `to`, which has no other traffic. */
export interface Mirror {
  /** Interfaces and link aggregation groups. */
  readonly from: readonly string[];
  readonly to: string;
}

export const portModes = ["access", "trunk"] as const;
export type PortMode = (typeof portModes)[number];
export const lacpModes = ["active", "passive", "off"] as const;
export type LacpMode = (typeof lacpModes)[number];
export const spanningTreeModes = ["rstp", "stp", "off"] as const;
export type SpanningTreeMode = (typeof spanningTreeModes)[number];

export const maxVlan = 4094;
export const defaultVlan = 1;
/** Maximum number of interfaces in a link aggregation group: LACP uses at most as many at once. */
export const maxMembers = 8;
/** The step of bridge priorities, and the largest one. */
export const priorityStep = 4096;
export const maxPriority = 61_440;
export const defaultPriority = 32_768;

/** An interval of VLANs, both ends included. */
export type VlanSpan = readonly [first: number, last: number];

/** Returns the spans of a list of numbers and ranges, sorted and merged. */
export function vlanSpans(list: readonly (number | string)[]): readonly VlanSpan[] {
  const spans = list.map((item): VlanSpan => {
    const [first = 0, last = first] = String(item).split("-").map(Number);
    return [first, last];
  });
  const merged: [number, number][] = [];
  for (const [first, last] of spans.sort(([a], [b]) => a - b)) {
    const before = merged.at(-1);
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else merged.push([first, last]);
  }
  return merged;
}

/** Returns the shortest list of numbers and ranges. */
export function vlanList(spans: readonly VlanSpan[]): readonly (number | string)[] {
  return spans.map(([first, last]) => (first === last ? first : `${first}-${last}`));
}

export function carriesVlan({ vlans }: Pick<SwitchPort, "vlans">, vlan: number): boolean {
  return vlans === undefined || vlanSpans(vlans).some(([first, last]) => first <= vlan && vlan <= last);
}

/** Returns the VLAN of a trunk's untagged frames, `undefined` if it drops them. */
export function nativeVlanOf(port: SwitchPort): number | undefined {
  return port.nativeVlan ?? (carriesVlan(port, defaultVlan) ? defaultVlan : undefined);
}

/** Describes the VLANs of a port: "access 10", "trunk 10,20-29 native 99". */
export function portWords(port: SwitchPort): string {
  if (port.mode === "access") return `access ${port.vlan ?? defaultVlan}`;
  const native = nativeVlanOf(port);
  return `trunk ${port.vlans?.join(",") ?? "all"}${native === undefined ? "" : ` native ${native}`}`;
}

/** Returns the ports of a switch by name: the listed interfaces and the groups. */
export function portsOf({ interfaces = {}, lag = {} }: Switching): ReadonlyMap<string, SwitchPort> {
  return new Map<string, SwitchPort>([...Object.entries(interfaces), ...Object.entries(lag)]);
}
