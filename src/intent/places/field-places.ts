import { Lines } from "../diagnostics/lines.ts";
import { pointer } from "../diagnostics/problems.ts";
import type { Entry, MapValue } from "../parse/parse.ts";
import { type Reading, readDocument } from "../read/read.ts";
import type { ReadNode } from "../read/read-nodes.ts";
import { type ValuePlace, valuePlace } from "./value-place.ts";

/** A resource of an intent, or one of its fields in the intent's own words, dotted: attributes.daemons, quality.a.delay. */
export interface FieldName {
  /** lab, node, config, network, link or text. */
  readonly kind: string;
  readonly key: string;
  readonly field?: string;
}

interface Found {
  readonly path: string;
  readonly entry: Pick<Entry, "place" | "value">;
}

/** A map of the text, with its JSON pointer. */
interface Source {
  readonly map: MapValue;
  readonly path: string;
}

/**
 * Returns the place where each field gets its value: the resource itself, or the group, kind or defaults that a node inherits it from. A field that
 * is not written has the place of its resource. The place is the beginning of the text for a resource that is not in it, and for all if the text
 * cannot be read.
 */
export function fieldPlaces(yaml: string, files: Readonly<Record<string, string>>, wanted: readonly FieldName[]): readonly ValuePlace[] {
  const { reading } = readDocument(yaml, files);
  const lines = new Lines(yaml);
  const links = new Map(reading?.links.map((link) => [link.link.key, link]));
  const find = (reading: Reading, name: FieldName): Found | undefined => {
    const { kind, key, field } = name;
    if (kind === "node" || kind === "config") return findInNode(reading, reading.nodes.get(key), field);
    if (kind === "network") return findInNetwork(reading, key, field);
    if (kind !== "link") return findInSource({ map: reading.root, path: "" }, field) ?? findInSource(bodyOf(reading), field);
    const link = links.get(key);
    if (link === undefined) return undefined;
    const path = pointer(sectionPath(reading, "links"), link.index);
    const found = link.value.kind === "map" ? findInSource({ map: link.value, path }, field && sideOf(field, link.turned)) : undefined;
    return found ?? { path, entry: { place: link.value, value: link.value } };
  };
  return wanted.map((name) => {
    const found = reading && find(reading, name);
    return found === undefined ? { path: "", line: 1, column: 1, end_line: 1, end_column: 1 } : valuePlace(lines, found.entry, found.path);
  });
}

function findInNode({ inheritance }: Reading, node: ReadNode | undefined, field: string | undefined): Found | undefined {
  if (node === undefined) return undefined;
  const { defaults, kinds, groups } = inheritance;
  const inherited = [...node.groups.map((name) => groups.get(name)).reverse(), kinds.get(node.kind ?? ""), defaults];
  // A kind that is not in kinds is the name of a template.
  const fields = field === "template" && !kinds.has(node.kind ?? "") ? ["template", "kind"] : [field];
  for (const source of [node.source, ...inherited.map((form) => form?.source)]) {
    for (const each of fields) {
      const found = source && findInSource(source, each);
      if (found !== undefined) return found;
    }
  }
  return { path: node.path, entry: node.entry };
}

function findInNetwork(reading: Reading, key: string, field: string | undefined): Found | undefined {
  const network = reading.networks.get(key);
  if (network === undefined) return undefined;
  const path = pointer(sectionPath(reading, reading.bridges.has(key) ? "nodes" : "networks"), key);
  const { entry } = network;
  const found = entry.value.kind === "map" ? findInSource({ map: entry.value, path }, field) : undefined;
  return found ?? { path, entry };
}

function bodyOf({ root }: Reading): Source {
  const body = root.entries.get("topology")?.value;
  return body?.kind === "map" ? { map: body, path: "/topology" } : { map: root, path: "" };
}

/** Returns the place of a section: at the top level, or inside `topology`. */
function sectionPath({ root, bodyPath }: Reading, section: string): string {
  return pointer(root.entries.has(section) ? "" : bodyPath, section);
}

/** Returns the longest prefix of a dotted field that the map has; undefined if it does not have the first word. */
function findInSource({ map, path }: Source, field: string | undefined): Found | undefined {
  if (field === undefined) return undefined;
  const dot = field.indexOf(".");
  const [first, rest] = dot < 0 ? [field, undefined] : [field.slice(0, dot), field.slice(dot + 1)];
  const entry = map.entries.get(first);
  if (entry === undefined) return undefined;
  const here = { path: pointer(path, first), entry };
  if (rest === undefined || entry.value.kind !== "map") return here;
  const { entries } = entry.value;
  // Names of attributes and variables may contain dots.
  const whole = entries.get(rest);
  if (whole !== undefined) return { path: pointer(here.path, rest), entry: whole };
  // An attribute that is not here may be inherited; a quality may be one map for both sides.
  if (first !== "quality") return undefined;
  const inner = { map: entry.value, path: here.path };
  return findInSource(inner, rest) ?? findInSource(inner, rest.slice(2)) ?? here;
}

/** A link that has its network first has swapped sides. */
function sideOf(field: string, turned: boolean): string {
  return turned ? field.replace(/\.([ab])(?=\.|$)/, (_, side) => (side === "a" ? ".b" : ".a")) : field;
}
