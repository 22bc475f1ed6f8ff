import { createHash } from "node:crypto";
import { type Ipv4Subnet, ipv4Number, ipv4Text, nodeAddresses, overlap } from "../../../intent/addresses/ipv4.ts";
import { type Ipv6Subnet, ipv6Text } from "../../../intent/addresses/ipv6.ts";
import type { DefinedNode } from "../definitions/definition.ts";

/** Networks of labs that name none are in 198.18.0.0/15, which is for tests of networks (RFC 2544): no real network has its addresses. */
const pool: Ipv4Subnet = { network: 198 * 2 ** 24 + 18 * 2 ** 16, length: 15 };

/** Bits of a network that the host chooses for a small lab. */
const usualLength = 24;

/**
 * Returns a network for a lab that names none: the same at each call while no other has it; undefined if all are in use.
 * @param nodes number of nodes; the network has room for twice as many
 * @param used networks of the machine and of other labs
 */
export function freeSubnet(lab: string, nodes: number, used: readonly Ipv4Subnet[]): Ipv4Subnet | undefined {
  const needed = Math.ceil(Math.log2(2 * nodes + 3));
  const length = Math.max(16, Math.min(usualLength, 32 - needed));
  const size = 2 ** (32 - length);
  const count = 2 ** (length - pool.length);
  const start = createHash("sha256").update(lab).digest().readUInt32BE(0);
  for (let i = 0; i < count; i++) {
    const subnet = { network: pool.network + ((start + i) % count) * size, length };
    if (!used.some((one) => overlap(one, subnet))) return subnet;
  }
  return undefined;
}

/**
 * Returns node id → address. A node has its declared address. Each other keeps the one that it has, unless another node declares that or the network has
 * changed. Returns the first node without an address if the network is too small.
 */
export function assignAddresses(
  nodes: readonly Pick<DefinedNode, "id" | "name" | "mgmtIpv4">[],
  subnet: Ipv4Subnet,
  before: ReadonlyMap<number, string>,
): ReadonlyMap<number, string> | { readonly without: string } {
  const { first, last } = nodeAddresses(subnet);
  const isFree = (address: number) => address >= first && address <= last && !taken.has(address);
  const taken = new Set(nodes.flatMap(({ mgmtIpv4 }) => (mgmtIpv4 === undefined ? [] : (ipv4Number(mgmtIpv4) ?? []))));
  const result = new Map<number, string>();
  const assign = (id: number, address: number) => {
    taken.add(address);
    result.set(id, ipv4Text(address));
  };
  for (const { id, mgmtIpv4 } of nodes) {
    const kept = ipv4Number(before.get(id) ?? "");
    if (mgmtIpv4 !== undefined) result.set(id, mgmtIpv4);
    else if (kept !== undefined && isFree(kept)) assign(id, kept);
  }
  let next = first;
  for (const { id, name } of nodes) {
    if (result.has(id)) continue;
    const usual = first + id - 1;
    if (isFree(usual)) {
      assign(id, usual);
      continue;
    }
    while (next <= last && taken.has(next)) next++;
    if (next > last) return { without: name };
    assign(id, next);
  }
  return result;
}

/** Returns a private IPv6 network for a lab that names none (RFC 4193). */
export function ownSubnet6(lab: string): Ipv6Subnet {
  const id = createHash("sha256").update(lab).digest("hex").slice(0, 10);
  return { network: BigInt(`0xfd${id}`) << 80n, length: 64 };
}

/** Distance of the addresses that a node may have by itself. */
const step6 = 65_536n;

/**
 * Returns node id → IPv6 address. A node has its declared address. Each other has the number of its IPv4 address in the network; if another node declares
 * that address, a later one.
 */
export function assignAddresses6(
  nodes: readonly Pick<DefinedNode, "id" | "mgmtIpv6">[],
  subnet: Ipv6Subnet,
  ipv4: { readonly subnet: Ipv4Subnet; readonly addresses: ReadonlyMap<number, string> },
): ReadonlyMap<number, string> {
  const declared = new Set(nodes.flatMap(({ mgmtIpv6 }) => mgmtIpv6 ?? []));
  const own = (id: number) => {
    let address = subnet.network + BigInt((ipv4Number(ipv4.addresses.get(id) ?? "") ?? 0) - ipv4.subnet.network);
    while (declared.has(ipv6Text(address))) address += step6;
    return ipv6Text(address);
  };
  return new Map(nodes.map(({ id, mgmtIpv6 }) => [id, mgmtIpv6 ?? own(id)]));
}
