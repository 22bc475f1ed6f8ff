import {
  addressOnly,
  addressText,
  bitsOf,
  type Family,
  families,
  type InterfaceAddress,
  interfaceAddress,
  networkOf,
  overlaps,
} from "../addresses/interface-address.ts";
import type { Problems } from "../diagnostics/problems.ts";
import type { NodeAddresses, Pool, PoolName, Pools, WrittenAddresses } from "../generate/pools.ts";
import { addressingVocabulary, addressPools, poolVocabularies } from "../lab/vocabulary.ts";
import type { MapValue } from "../parse/parse.ts";
import { checkKeys, type Field, field, fieldOf, invalid, isNull, readMap, readNumber, readText, spot } from "./fields.ts";

/** The pools of `addressing: true`. */
const usualPools: Readonly<Record<PoolName, string>> = { p2p: "10.0.0.0/10", lan: "10.64.0.0/10", loopback: "10.255.0.0/16" };

const usualLengths: Readonly<Record<PoolName, Readonly<Record<Family, number>>>> = {
  p2p: { 4: 31, 6: 127 },
  lan: { 4: 22, 6: 64 },
  loopback: { 4: 32, 6: 128 },
};

/** A node needs a network with two addresses at least. */
const longest: Readonly<Record<Family, number>> = { 4: 31, 6: 127 };

/** Reads `addressing` of the lab. */
export function readAddressing(problems: Problems, at: Field): Pools | undefined {
  if (at.value.kind === "scalar") {
    if (at.value.value === false) return undefined;
    if (at.value.value !== true)
      return invalid(problems, at, "it must be true or a map of pools", "write true, or {p2p: {ipv4: 10.0.0.0/16}}");
    return Object.fromEntries(addressPools.map((name) => [name, { 4: pool(name, 4, interfaceAddress(usualPools[name])!, at) }]));
  }
  const map = readMap(problems, at);
  if (map === undefined) return undefined;
  checkKeys(problems, map, at.path, addressingVocabulary);
  const found: Pool[] = [];
  const pools = addressPools.flatMap((name) => {
    const one = fieldOf(map, name, at.path);
    return one === undefined ? [] : [[name, readPool(problems, name, one, found)] as const];
  });
  return Object.fromEntries(pools);
}

function readPool(problems: Problems, name: PoolName, at: Field, found: Pool[]): Readonly<Partial<Record<Family, Pool>>> {
  const map = readMap(problems, at);
  if (map === undefined) return {};
  checkKeys(problems, map, at.path, poolVocabularies[name]);
  const result: Partial<Record<Family, Pool>> = {};
  for (const family of families) {
    const rangeAt = fieldOf(map, `ipv${family}`, at.path);
    const lengthKey = family === 4 ? "prefix" : "prefix6";
    const lengthAt = fieldOf(map, lengthKey, at.path);
    const range = rangeAt && readRange(problems, rangeAt, family);
    if (rangeAt === undefined && lengthAt !== undefined) invalid(problems, lengthAt, `it needs ipv${family}, the addresses of the pool`);
    if (range === undefined || rangeAt === undefined) continue;
    const length = lengthAt && readNumber(problems, lengthAt, { min: 0, max: longest[family], integer: true });
    const one = pool(name, family, range, rangeAt, length);
    if (one.length < range.length) {
      invalid(
        problems,
        lengthAt ?? rangeAt,
        `networks with the prefix length ${one.length} are larger than the pool ${addressText(range)}`,
        `write a ${lengthKey} of more than ${range.length}`,
      );
      continue;
    }
    const other = found.find((known) => overlaps(known.range, range));
    if (other !== undefined)
      invalid(
        problems,
        rangeAt,
        `${addressText(range)} overlaps the pool ${other.name}, ${addressText(other.range)}`,
        "give each pool addresses of its own",
      );
    found.push(one);
    result[family] = one;
  }
  return result;
}

function pool(
  name: PoolName,
  family: Family,
  range: InterfaceAddress,
  at: Field,
  length = Math.max(usualLengths[name][family], name === "loopback" ? 0 : range.length),
): Pool {
  return { name, range, length, place: spot(at), path: at.path };
}

function readRange(problems: Problems, at: Field, family: Family): InterfaceAddress | undefined {
  const text = readText(problems, at);
  if (text === undefined) return undefined;
  const range = interfaceAddress(text);
  const hint = family === 4 ? "write 10.0.0.0/16" : "write fd00:1::/48";
  if (range?.family !== family) return invalid(problems, at, `${JSON.stringify(text.slice(0, 60))} is not an IPv${family} network`, hint);
  const network = networkOf(range);
  if (network.address !== range.address) return invalid(problems, at, `${text} has bits after its prefix`, `write ${addressText(network)}`);
  if (isReserved(network)) return invalid(problems, at, `${text} is reserved`, hint);
  return network;
}

/** The node itself, link-local addresses, groups. */
function isReserved({ family, address, length }: InterfaceAddress): boolean {
  const first = Number(address >> BigInt(bitsOf[family] - 16));
  if (family === 6) return length < 3 || first === 0 || first >= 0xfe00;
  return length < 4 || first < 0x100 || first >> 8 === 127 || first === 0xa9fe || first >> 8 >= 224;
}

/** Reads `addresses` of a node: interface → ADDRESS/LENGTH or a list of them. */
export function readAddresses(problems: Problems, at: Field): NodeAddresses | undefined {
  const map: MapValue | undefined = readMap(problems, at);
  if (map === undefined) return undefined;
  const result = new Map<string, WrittenAddresses>();
  for (const entry of map.entries.values()) {
    const here = field(entry, at.path);
    if (isNull(here.value)) continue;
    const items =
      here.value.kind === "list"
        ? here.value.items.map((value, index) => ({ value, path: `${here.path}/${index}`, place: value }))
        : [here];
    result.set(entry.key, { place: here.place, path: here.path, list: items.flatMap((item) => readAddress(problems, item) ?? []) });
  }
  return result;
}

function readAddress(problems: Problems, at: Field): InterfaceAddress | undefined {
  const text = readText(problems, at);
  if (text === undefined) return undefined;
  const found = interfaceAddress(text);
  if (found === undefined || found.length === 0)
    return invalid(problems, at, `${JSON.stringify(text.slice(0, 60))} is not an address with a prefix length`, "write 10.0.0.1/24");
  const isNetwork = found.length < longest[found.family] && networkOf(found).address === found.address;
  if (isNetwork)
    return invalid(
      problems,
      at,
      `${text} is the address of the network itself`,
      `write ${addressOnly({ ...found, address: found.address + 1n })}/${found.length}`,
    );
  return found;
}
