import type { LacpMode, PortMode, SpanningTreeMode } from "../intent/lab/switching.ts";

/** The state of a VLAN-aware switch, as its software reports it. The feature is `switching`. */
export interface SwitchState {
  /** In natural order of their names. */
  readonly ports: readonly SwitchPortState[];
  readonly spanningTree?: SpanningTreeState;
  /** Learned addresses, at most `maxAddresses`. */
  readonly addresses: readonly LearnedAddress[];
  /** Learned addresses that are left out. */
  readonly moreAddresses: number;
}

export const maxAddresses = 1000;

/** A linked interface, or a link aggregation group with a linked member. */
export interface SwitchPortState {
  readonly name: string;
  readonly mode: PortMode;
  /** The VLAN of untagged frames: the VLAN of an access port, the native VLAN of a trunk. Absent: untagged frames are dropped. */
  readonly vlan?: number;
  /** The VLANs of a trunk: numbers and ranges. Absent: all, or the port is not a trunk. */
  readonly vlans?: readonly (number | string)[];
  readonly interfaces: readonly {
    readonly name: string;
    readonly isUp: boolean /** Its partner answers. */;
    readonly lacpCurrent?: boolean;
  }[];
  readonly lacp?: LacpMode;
  /** Role and state in the spanning tree, in lower case; absent: it takes no part. */
  readonly role?: string;
  readonly state?: string;
  /** It is not as the lab declares it: somebody changed it by hand. */
  readonly differs: boolean;
}

export interface SpanningTreeState {
  readonly mode: Exclude<SpanningTreeMode, "off">;
  readonly bridge: string;
  readonly root: string;
}

export interface LearnedAddress {
  readonly mac: string;
  readonly vlan: number;
  /** Name of the port. */
  readonly port: string;
  /** Seconds since its last frame. */
  readonly age: number;
}
