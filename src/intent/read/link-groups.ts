import { didYouMean } from "../diagnostics/nearest.ts";
import { checkKeys, type Field, fieldOf, invalid, readMap, readText, spot } from "../fields/fields.ts";
import { type LinkGroup, linkGroups, linkGroupVocabularies } from "../lab/vocabulary.ts";
import { expandRange, hasRange, NameCount } from "../parse/ranges.ts";
import type { ReadContext } from "./node-fields.ts";
import type { Ends, RawEnd } from "./read-links.ts";

type Problems = ReadContext["problems"];
type Pair = readonly [RawEnd, RawEnd];

/** Maximum number of links of one group, as a full mesh of 200 nodes. */
const maxGroupLinks = 20_000;

/** Returns the group of links that a link item declares, if it does. */
export function groupOf(item: Field): { readonly kind: LinkGroup; readonly at: Field } | undefined {
  if (item.value.kind !== "map") return undefined;
  for (const kind of linkGroups) {
    const at = fieldOf(item.value, kind, item.path);
    if (at !== undefined) return { kind, at };
  }
  return undefined;
}

/**
 * Returns the ends of the links of a group. The order gives each node the interface of the first node first, so that a node that is added at the end of a mesh,
 * star or clos changes no interface of the others.
 */
export function readGroup(problems: Problems, { kind, at }: { readonly kind: LinkGroup; readonly at: Field }, ends: Ends): readonly Pair[] {
  if (kind === "star" || kind === "clos") return readTwoSided(problems, kind, at, ends);
  const nodes = readMembers(problems, at, ends);
  if (nodes === undefined) return [];
  const least = kind === "ring" ? 3 : 2;
  if (nodes.length < least) {
    invalid(problems, at, `it needs at least ${least} nodes, and has ${nodes.length}`);
    return [];
  }
  if (kind === "ring") return nodes.map((node, index) => [free(node), free(nodes[(index + 1) % nodes.length] as string)]);
  if (!isBounded(problems, at, (nodes.length * (nodes.length - 1)) / 2)) return [];
  return nodes.flatMap((node, index) => nodes.slice(0, index).map((earlier): Pair => [free(earlier), free(node)]));
}

function readTwoSided(problems: Problems, kind: "star" | "clos", at: Field, ends: Ends): readonly Pair[] {
  const map = readMap(problems, at);
  if (map === undefined) return [];
  const vocabulary = linkGroupVocabularies[kind];
  checkKeys(problems, map, at.path, vocabulary);
  const [centre, outer] = vocabulary.known.map((key) => {
    const side = fieldOf(map, key, at.path);
    if (side === undefined) problems.error("missing_key", at.place, at.path, `the ${kind} has no ${key}`);
    return side;
  });
  if (centre === undefined || outer === undefined) return [];
  const hubs = kind === "star" ? readHub(problems, centre, ends) : readMembers(problems, centre, ends)?.map(free);
  const nodes = readMembers(problems, outer, ends);
  if (hubs === undefined || nodes === undefined || !isBounded(problems, at, hubs.length * nodes.length)) return [];
  const both = nodes.find((node) => hubs.some((hub) => "node" in hub && hub.node === node));
  if (both !== undefined) {
    invalid(problems, outer, `${JSON.stringify(both)} is on both sides`);
    return [];
  }
  return nodes.flatMap((node) => hubs.map((hub): Pair => [hub, free(node)]));
}

/** A hub is a node or a network. */
function readHub(problems: Problems, at: Field, ends: Ends): readonly RawEnd[] | undefined {
  const text = readText(problems, at, { loose: true });
  if (text === undefined) return undefined;
  if (ends.nodes.has(text)) return [free(text)];
  if (ends.networks.has(text)) return [{ network: text }];
  unknown(problems, at, text, ends);
  return undefined;
}

/** Reads the nodes of a text or list of node keys, ranges and groups, in this order. */
function readMembers(problems: Problems, at: Field, ends: Ends): readonly string[] | undefined {
  const items: readonly Field[] =
    at.value.kind === "list" ? at.value.items.map((value, index) => ({ value, path: `${at.path}/${index}`, place: value })) : [at];
  const nodes = new Set<string>();
  for (const item of items) {
    const text = readText(problems, item, { loose: true });
    const names = text === undefined ? undefined : namesOf(problems, item, text, ends);
    if (names === undefined) return undefined;
    for (const name of names) {
      if (nodes.has(name)) return invalid(problems, item, `the node ${JSON.stringify(name)} is named twice`);
      nodes.add(name);
    }
  }
  return [...nodes];
}

function namesOf(problems: Problems, at: Field, text: string, ends: Ends): readonly string[] | undefined {
  const names = rangeNames(problems, at, text, ends.names);
  if (names === undefined) return undefined;
  const nodes: string[] = [];
  for (const name of names) {
    const members = ends.nodes.has(name) ? [name] : ends.members(name);
    if (members.length === 0) return unknown(problems, at, name, ends);
    if (!ends.nodes.has(name) && !ends.names.take(members.length)) {
      problems.errorOnce("too_large", spot(at), at.path, NameCount.problem, "name fewer or smaller groups");
      return undefined;
    }
    nodes.push(...members);
  }
  return nodes;
}

/** Returns the names of a text with ranges, and the text itself if it has none. */
export function rangeNames(problems: Problems, at: Field, text: string, total: NameCount): readonly string[] | undefined {
  if (!hasRange(text)) return [text];
  const names = expandRange(text, total);
  if (!("problem" in names)) return names.map(({ name }) => name);
  if (names.isTooLarge) problems.errorOnce("too_large", spot(at), at.path, names.problem, "write a shorter range");
  else problems.error("invalid_value", spot(at), at.path, names.problem, "write {1..4} or {a,b}");
  return undefined;
}

function unknown(problems: Problems, at: Field, name: string, ends: Ends): undefined {
  const hint = didYouMean(name, ends.nodes.keys(), problems.effort) ?? "name nodes, ranges of nodes, or a group that nodes have";
  problems.error("unknown_node", spot(at), at.path, `no node ${JSON.stringify(name.slice(0, 80))}`, hint);
  return undefined;
}

function isBounded(problems: Problems, at: Field, count: number): boolean {
  if (count <= maxGroupLinks) return true;
  problems.error("too_large", at.place, at.path, `the group has ${count} links: at most ${maxGroupLinks}`);
  return false;
}

function free(node: string): RawEnd {
  return { node, interface: undefined };
}
