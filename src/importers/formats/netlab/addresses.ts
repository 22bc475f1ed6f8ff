import { ownValue } from "../../tree/own-value.ts";
import type { Part } from "../../tree/part.ts";
import { refuse } from "../../tree/refuse.ts";
import { deep } from "./deep.ts";
import { Subnet } from "./subnet.ts";

/** netlab's own pools, for topologies that set none. */
const defaults: Readonly<Record<string, { readonly ipv4?: string; readonly ipv6?: string; readonly prefix: number }>> = {
  loopback: { ipv4: "10.0.0.0/24", prefix: 32 },
  lan: { ipv4: "172.16.0.0/16", prefix: 24 },
  p2p: { ipv4: "10.1.0.0/16", prefix: 30 },
};

interface Family {
  readonly base: Subnet;
  readonly length: number;
  next: bigint;
}

interface Pool {
  readonly ipv4: Family | undefined;
  readonly ipv6: Family | undefined;
}

/** The pools of a topology. Each link gets the next network of its pool. */
export class Pools {
  readonly #pools = new Map<string, Pool>();
  readonly #named: Part | undefined;
  /** The networks of VLANs, and of prefixes that are taken from a pool: all links that name one share it. */
  readonly #shared = new Map<string, readonly Subnet[]>();

  constructor(root: Part) {
    this.#named = root.get("prefix");
    const given = root.entries.flatMap(([key, part]) => {
      const [first, name] = key.split(".");
      if (first !== "addressing") return [];
      return name === undefined ? part.entries.map(([inner]) => inner.split(".")[0] ?? inner) : [name];
    });
    for (const name of new Set([...Object.keys(defaults), ...given]))
      this.#pools.set(
        name,
        readPool((key) => deep(root, "addressing", name, key), ownValue(defaults, name), name),
      );
    // As in netlab, VLANs get their networks before links do.
    for (const [name, vlan] of root.get("vlans")?.entries ?? []) this.#shared.set(`vlan ${name}`, this.#networksOf(vlan));
  }

  /** Returns the networks of a VLAN of the topology; undefined: it has no such VLAN. */
  vlan(name: string): readonly Subnet[] | undefined {
    return this.#shared.get(`vlan ${name}`);
  }

  /** Returns the networks of a prefix that the topology gives a name. */
  ofName(name: string): readonly Subnet[] {
    const known = this.#shared.get(name);
    if (known !== undefined) return known;
    const part = deep(this.#named, name);
    const pool = deep(part, "pool");
    const found =
      pool === undefined || !this.has(pool.text ?? "") ? subnetsIn(part) : this.take(pool.mapped("the pool of its addresses").text ?? "");
    this.#shared.set(name, found);
    return found;
  }

  /** Its prefix, or the next networks of its pool. */
  #networksOf(vlan: Part): readonly Subnet[] {
    const prefix = deep(vlan, "prefix");
    if (prefix?.text !== undefined && this.named(prefix.text) !== undefined) return this.ofName(prefix.mapped("its addresses").text ?? "");
    if (prefix !== undefined && prefix.boolean !== true) return prefix.boolean === false ? [] : subnetsIn(prefix);
    const pool = deep(vlan, "pool");
    const name = [pool?.text ?? "", "vlan"].find((each) => this.has(each)) ?? "lan";
    if (pool?.text === name) pool.mapped("the pool of its addresses");
    return this.take(name);
  }

  has(name: string): boolean {
    return this.#pools.has(name);
  }

  /** Returns the prefix that the topology gives a name. */
  named(name: string): Part | undefined {
    return deep(this.#named, name);
  }

  /** Returns the next networks of a pool; an exhausted one has no more. */
  take(name: string): readonly Subnet[] {
    const { ipv4, ipv6 } = this.#pools.get(name) ?? { ipv4: undefined, ipv6: undefined };
    return [ipv4, ipv6].flatMap((family) => {
      if (family === undefined) return [];
      const subnet = family.base.child(family.length, family.next);
      if (subnet === undefined) return [];
      family.next++;
      return [subnet];
    });
  }

  /** Returns the loopback addresses of a node. */
  loopback(id: number): readonly string[] {
    const { ipv4, ipv6 } = this.#pools.get("loopback") ?? { ipv4: undefined, ipv6: undefined };
    return [ipv4, ipv6].flatMap((family) => {
      const subnet = family?.base.child(family.length, BigInt(id));
      if (subnet === undefined) return [];
      return [subnet.length === subnet.bits ? subnet.text : subnet.host(1n)].filter((text) => text !== undefined);
    });
  }
}

/** Returns the networks of a prefix, which is one text or has one for each family. */
export function subnetsIn(prefix: Part | undefined): readonly Subnet[] {
  const values = prefix?.text === undefined ? [deep(prefix, "ipv4"), deep(prefix, "ipv6")] : [prefix];
  return values.flatMap((value) => {
    const subnet = value?.text === undefined ? undefined : Subnet.parse(value.text);
    if (subnet === undefined) return [];
    value?.kept("in the addresses of its interfaces");
    return [subnet];
  });
}

function readPool(value: (key: string) => Part | undefined, otherwise: (typeof defaults)[string] | undefined, name: string): Pool {
  const [v4, v6, prefix, prefix6] = [value("ipv4"), value("ipv6"), value("prefix"), value("prefix6")];
  const isGiven = v4 !== undefined || v6 !== undefined;
  const text4 = v4 === undefined ? (isGiven ? undefined : otherwise?.ipv4) : v4.text;
  const length4 = prefix?.number ?? otherwise?.prefix ?? 24;
  const length6 = prefix6?.number ?? (name === "loopback" ? 128 : 64);
  for (const each of [v4, v6, prefix, prefix6]) each?.mapped("addresses of links and nodes");
  for (const key of ["start", "mac", "_eui_range"]) value(key)?.dropped("the management network chooses addresses itself");
  return { ipv4: familyOf(text4, length4), ipv6: familyOf(v6?.text, length6) };
}

function familyOf(text: string | undefined, length: number): Family | undefined {
  if (text === undefined || text === "false" || text === "true") return undefined;
  const base = Subnet.parse(text);
  if (base === undefined) return undefined;
  if (!Number.isInteger(length)) refuse(`${length} is not a prefix length`);
  return { base, length: Math.min(base.bits, Math.max(base.length, length)), next: 0n };
}
