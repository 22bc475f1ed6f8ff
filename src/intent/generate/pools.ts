import type { Family, InterfaceAddress } from "../addresses/interface-address.ts";
import type { Place } from "../diagnostics/problems.ts";
import type { addressPools } from "../lab/vocabulary.ts";

export type PoolName = (typeof addressPools)[number];

/** Addresses of one family that a pool gives. */
export interface Pool {
  readonly name: PoolName;
  readonly range: InterfaceAddress;
  /** Prefix length of the networks that it gives. */
  readonly length: number;
  readonly place: Place;
  readonly path: string;
}

export type Pools = Readonly<Partial<Record<PoolName, Readonly<Partial<Record<Family, Pool>>>>>>;

/** The addresses of one interface, as they are written. Without any, the interface gets none. */
export interface WrittenAddresses {
  readonly list: readonly InterfaceAddress[];
  readonly place: Place;
  readonly path: string;
}

/** By interface. */
export type NodeAddresses = ReadonlyMap<string, WrittenAddresses>;
