import {
  addressOnly,
  addressText,
  bitsOf,
  type Family,
  families,
  type InterfaceAddress,
  lastOf,
  networkOf,
  sizeOf,
} from "../addresses/interface-address.ts";
import { placeOfName } from "../addresses/stable-place.ts";
import type { Place, Problems } from "../diagnostics/problems.ts";
import { addTo } from "./multimap.ts";
import type { NodeAddresses, Pool, Pools, WrittenAddresses } from "./pools.ts";
import type { Segment, SegmentEnd } from "./segments.ts";

/** Name of the interface with the addresses of a node itself. */
export const loopback = "lo";

/** A node that can have addresses. */
export interface AddressedNode {
  readonly key: string;
  /** Whether it gets an address of the pool of loopbacks. */
  readonly isRouter: boolean;
  /** Addresses that its author wrote, by interface. */
  readonly written: NodeAddresses;
  /** Those of them that its configuration or its commands set. */
  readonly inText: ReadonlyMap<string, readonly InterfaceAddress[]>;
  readonly place: Place;
  readonly path: string;
}

/** Node → interface → addresses. */
export type Addresses = ReadonlyMap<string, ReadonlyMap<string, readonly InterfaceAddress[]>>;

/** Something that has a network of its own. */
interface Claim {
  readonly network: InterfaceAddress;
  readonly name: string;
  readonly pool?: Pool;
  readonly place: Place;
  readonly path: string;
  /** The interface whose explicit address would replace the pool's. */
  readonly end: SegmentEnd;
}

/** Numbers of hosts in a network of IPv6. */
const hostsOfIpv6 = 65_534n;

/** Hints with a free network are computed for the first conflicts only. */
const maxHints = 8;

/** Gives the interfaces of nodes the addresses that are written, and the others addresses from pools. A written address wins, with its whole network. */
export function assignAddresses(
  problems: Problems,
  pools: Pools,
  nodes: ReadonlyMap<string, AddressedNode>,
  segments: readonly Segment[],
): Addresses {
  const result = new Map<string, Map<string, InterfaceAddress[]>>();
  const give = ({ node, interface: name }: SegmentEnd, address: InterfaceAddress) => {
    const own = result.get(node) ?? new Map<string, InterfaceAddress[]>();
    addTo(own, name, address);
    result.set(node, own);
  };
  for (const { key, written } of nodes.values()) {
    for (const [name, { list }] of written) for (const address of list) give({ node: key, interface: name }, address);
  }
  const claims: Claim[] = [];
  for (const family of families) {
    const isUsable = (pool: Pool | undefined, count: number) => pool !== undefined && hasRoom(problems, pool, count);
    const routers = [...nodes.values()].filter(({ isRouter, written }) => isRouter && isFree(family, written.get(loopback)));
    for (const { key, written, place, path } of nodes.values()) {
      for (const address of of(family, written.get(loopback)?.list)) {
        claims.push({
          network: { ...address, length: bitsOf[family] },
          name: `node ${key}`,
          place,
          path,
          end: { node: key, interface: loopback },
        });
      }
    }
    const loopbacks = pools.loopback?.[family];
    if (loopbacks !== undefined && isUsable(loopbacks, routers.length)) {
      for (const { key, place, path } of routers) {
        const end = { node: key, interface: loopback };
        const network = networkAt(loopbacks, placeOfName(key, networksOf(loopbacks)));
        claims.push({ network, name: `node ${key}`, pool: loopbacks, place, path, end });
        give(end, network);
      }
    }
    for (const kind of ["p2p", "lan"] as const) {
      const pool = pools[kind]?.[family];
      const own = segments.filter((segment) => segment.pool === kind);
      const withEnds = own.map((segment) => ({ segment, ...endsOf(problems, segment, nodes, family) }));
      const fromPool = withEnds.filter(({ segment, free, first }) => !segment.isOpen && free.length > 0 && first === undefined);
      const usable = isUsable(pool, fromPool.length) ? pool : undefined;
      for (const { segment, free, first, taken, written } of withEnds) {
        const { name, place, path } = segment;
        for (const { end, address } of written) claims.push({ network: networkOf(address), name, place, path, end });
        const [end] = free;
        if (end === undefined || pool === undefined || segment.isOpen || (first === undefined && usable === undefined)) continue;
        const network = first === undefined ? networkAt(pool, segment.placeIn(networksOf(pool))) : networkOf(first);
        if (first === undefined) claims.push({ network, name, place, path, end, pool });
        giveHosts(problems, { segment, free, network, taken }, give);
      }
    }
  }
  reportConflicts(problems, claims);
  return result;
}

interface WrittenEnd {
  readonly end: SegmentEnd;
  readonly address: InterfaceAddress;
}

interface Ends {
  readonly free: readonly SegmentEnd[];
  /** The first written address, whose network the segment has. */
  readonly first: InterfaceAddress | undefined;
  readonly taken: Map<bigint, SegmentEnd>;
  readonly written: readonly WrittenEnd[];
}

/** Returns the ends that a pool may serve, and the addresses that the other ones have. Reports an address that two ends have. */
function endsOf(
  problems: Problems,
  { ends, name, place, path, isOpen }: Segment,
  nodes: ReadonlyMap<string, AddressedNode>,
  family: Family,
): Ends {
  const free: SegmentEnd[] = [];
  const taken = new Map<bigint, SegmentEnd>();
  const written: WrittenEnd[] = [];
  for (const end of ends) {
    const node = nodes.get(end.node);
    const own = node?.written.get(end.interface);
    for (const address of of(family, own?.list)) {
      written.push({ end, address });
      const other = taken.get(address.address);
      // VLANs may have the same addresses.
      if (other !== undefined && !isOpen) {
        const message = `${name}: ${other.node} and ${end.node} have the same address, ${addressOnly(address)}`;
        problems.error("address_conflict", place, path, message, "give one of them another address");
      }
      taken.set(address.address, end);
    }
    if (node !== undefined && isFree(family, own)) free.push(end);
  }
  return { free, first: written[0]?.address, taken, written };
}

/** An empty list leaves the interface without addresses. */
function isFree(family: Family, written: WrittenAddresses | undefined): boolean {
  return written === undefined || (written.list.length > 0 && of(family, written.list).length === 0);
}

interface Hosts {
  readonly segment: Segment;
  readonly free: readonly SegmentEnd[];
  readonly network: InterfaceAddress;
  readonly taken: Map<bigint, SegmentEnd>;
}

/** Gives each free end its host's number: of a link by the order of its two ends, of a network by the name of the node. */
function giveHosts(
  problems: Problems,
  { segment, free, network, taken }: Hosts,
  give: (end: SegmentEnd, address: InterfaceAddress) => void,
): void {
  const { family, length } = network;
  const spare = bitsOf[family] - length;
  if (spare === 0) return;
  // A network of two addresses has no address of its own, and one of IPv6 no broadcast address.
  const lowest = spare === 1 ? 0n : 1n;
  const all = sizeOf(network) - (spare === 1 ? 0n : family === 4 ? 2n : 1n);
  const count = family === 6 && all > hostsOfIpv6 ? hostsOfIpv6 : all;
  const seen = new Set<string>();
  const wanted = new Set(free);
  for (const [index, end] of segment.ends.entries()) {
    const isSecond = seen.has(end.node);
    seen.add(end.node);
    if (!wanted.has(end)) continue;
    const name = isSecond ? `${end.node}:${end.interface}` : end.node;
    let number = segment.pool === "p2p" ? BigInt(index) : placeOfName(name, count);
    // The two ends of a link share its two first addresses. One of them may be written.
    if (segment.pool === "p2p" && taken.has(network.address + lowest + number)) number = 1n - number;
    const address = { ...network, address: network.address + lowest + number };
    const other = taken.get(address.address);
    if (other !== undefined) {
      const message = `${segment.name}: ${other.node} and ${end.node} have the same address, ${addressOnly(address)}`;
      problems.error("address_conflict", segment.place, segment.path, message, hintOf(end, freeHost(network, lowest, count, taken)));
      continue;
    }
    taken.set(address.address, end);
    give(end, address);
  }
}

function freeHost(
  network: InterfaceAddress,
  lowest: bigint,
  count: bigint,
  taken: ReadonlyMap<bigint, unknown>,
): InterfaceAddress | undefined {
  for (let number = 0n; number < count && number < 1024n; number++) {
    const address = network.address + lowest + number;
    if (!taken.has(address)) return { ...network, address };
  }
  return undefined;
}

/** Reports each pair of networks that overlap, unless both are written. */
function reportConflicts(problems: Problems, claims: readonly Claim[]): void {
  const sorted = [...claims].sort(
    (a, b) => a.network.family - b.network.family || compare(a.network.address, b.network.address) || a.network.length - b.network.length,
  );
  let hints = 0;
  let reach: Claim | undefined;
  for (const claim of sorted) {
    const before = reach?.network.family === claim.network.family ? reach : undefined;
    const isOver = before !== undefined && claim.network.address <= lastOf(before.network);
    if (!isOver || lastOf(claim.network) > lastOf(before.network)) reach = claim;
    if (!isOver || (claim.pool === undefined && before.pool === undefined)) continue;
    const [moved, other] =
      claim.pool === undefined || (before.pool !== undefined && before.place.start > claim.place.start) ? [before, claim] : [claim, before];
    const free = hints++ < maxHints ? freeNetwork(moved.pool as Pool, moved.network, sorted) : undefined;
    const what = other.pool === undefined ? `has ${addressText(other.network)} already` : "has the same place in its pool";
    problems.error(
      "address_conflict",
      moved.place,
      moved.path,
      `${moved.name} cannot have ${addressText(moved.network)}: ${other.name} ${what}`,
      hintOf(moved.end, free),
    );
  }
}

function freeNetwork(pool: Pool, { address }: InterfaceAddress, claims: readonly Claim[]): InterfaceAddress | undefined {
  const size = networksOf(pool);
  const own = (address - pool.range.address) >> BigInt(bitsOf[pool.range.family] - pool.length);
  for (let step = 1n; step < 64n && step < size; step++) {
    const network = networkAt(pool, (own + step) % size);
    const last = lastOf(network);
    if (
      claims.some(
        (claim) => claim.network.family === network.family && claim.network.address <= last && network.address <= lastOf(claim.network),
      )
    )
      continue;
    const isHost = bitsOf[network.family] - network.length < 2;
    return isHost ? network : { ...network, address: network.address + 1n };
  }
  return undefined;
}

function hintOf({ node, interface: name }: SegmentEnd, address: InterfaceAddress | undefined): string {
  const text = address === undefined ? "ADDRESS/LENGTH" : addressText(address);
  return `write an address at node ${node}: addresses: {${name}: "${text}"}`;
}

function hasRoom(problems: Problems, pool: Pool, count: number): boolean {
  const size = networksOf(pool);
  if (BigInt(count) <= size) return true;
  const what = pool.name === "loopback" ? "addresses" : `networks with the prefix length ${pool.length}`;
  const message = `the pool ${pool.name}, ${addressText(pool.range)}, has ${size} ${what}: the lab needs ${count}`;
  problems.error("pool_exhausted", pool.place, pool.path, message, "write a range with a shorter prefix");
  return false;
}

function networksOf({ range, length }: Pool): bigint {
  return 1n << BigInt(length - range.length);
}

function networkAt({ range, length }: Pool, place: bigint): InterfaceAddress {
  const { family } = range;
  return { family, length, address: range.address + place * sizeOf({ family, length }) };
}

function of(family: Family, list: readonly InterfaceAddress[] = []): readonly InterfaceAddress[] {
  return list.filter((address) => address.family === family);
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
