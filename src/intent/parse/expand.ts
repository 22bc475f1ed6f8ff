import { type Problems, pointer } from "../diagnostics/problems.ts";
import { type Entry, MAX_VALUES, type MapValue, type ScalarValue, scalarSize, type Value } from "./parse.ts";
import { expandRange, hasRange, type NameCount } from "./ranges.ts";
import { isVariableSource, readVariables, Substitution, variablesEntry } from "./variables.ts";

/** Maximum number of nodes that all ranges of a lab stand for. */
const maxNodes = 10_000;

/**
 * Returns the tree with the values of variables in place of `${name}`, and with a node for each name of a range such as leaf{1..4}. Every value keeps its
 * place in the text, so that diagnostics point at the source. Returns the same tree if there is nothing to expand.
 */
export function expandHelpers(root: MapValue, files: ReadonlyMap<string, string>, problems: Problems, names: NameCount): MapValue {
  if (variablesEntry(root) === undefined && !hasNodeRanges(root)) return root;
  return new Expansion(root, files, problems, names).section(root, "");
}

function hasNodeRanges(root: MapValue): boolean {
  const topology = root.entries.get("topology")?.value;
  for (const body of [root, topology]) {
    const nodes = body?.kind === "map" ? body.entries.get("nodes")?.value : undefined;
    if (nodes?.kind !== "map") continue;
    for (const key of nodes.entries.keys()) if (hasRange(key)) return true;
  }
  return false;
}

class Expansion {
  readonly #problems: Problems;
  readonly #names: NameCount;
  readonly #variables: ReadonlyMap<string, ScalarValue | undefined>;
  /** Undefined in a lab without variables, in which "${…}" outside of ranges is plain text. */
  readonly #general: Substitution | undefined;
  readonly #characters = { used: 0, isTooLarge: false };
  #nodes = 0;
  #values = 0;

  constructor(root: MapValue, files: ReadonlyMap<string, string>, problems: Problems, names: NameCount) {
    this.#names = names;
    this.#problems = problems;
    this.#variables = readVariables(root, files, problems);
    const hasVariables = variablesEntry(root) !== undefined;
    this.#general = hasVariables ? new Substitution(this.#variables, problems, this.#characters) : undefined;
  }

  section(map: MapValue, path: string): MapValue {
    const entries = new Map<string, Entry>();
    for (const [key, entry] of map.entries) {
      const here = pointer(path, key);
      const { value } = entry;
      if (path === "" && isVariableSource(key)) entries.set(key, entry);
      else if (key === "nodes" && value.kind === "map") entries.set(key, { ...entry, value: this.#expandNodes(value, here) });
      else if (path === "" && key === "topology" && value.kind === "map") entries.set(key, { ...entry, value: this.section(value, here) });
      else entries.set(key, { ...entry, value: this.#general?.value(value, here) ?? value });
    }
    return { ...map, entries };
  }

  /** Nodes of ranges have the place of their range among the nodes. An entry of a node's own wins over its range, field by field. */
  #expandNodes(nodes: MapValue, path: string): MapValue {
    const result = new Map<string, Entry>();
    for (const entry of nodes.entries.values()) {
      if (!hasRange(entry.key)) {
        const value = this.#general?.value(entry.value, pointer(path, entry.key)) ?? entry.value;
        result.set(entry.key, merged({ ...entry, value }, result.get(entry.key)));
        continue;
      }
      for (const made of this.#nodesOf(entry, path)) {
        const other = result.get(made.key);
        if (other?.range === undefined) result.set(made.key, other === undefined ? made : merged(other, made));
        else this.#twice(made, other, pointer(path, entry.key));
      }
    }
    return { ...nodes, entries: result };
  }

  #nodesOf(entry: Entry, path: string): readonly Entry[] {
    const here = pointer(path, entry.key);
    const names = expandRange(entry.key, this.#names);
    if ("problem" in names) {
      if (names.isTooLarge) this.#problems.errorOnce("too_large", entry.place, here, names.problem, "write a shorter range");
      else this.#problems.error("invalid_name", entry.place, here, names.problem, "write {1..4} or {a,b}");
      return [];
    }
    this.#nodes += names.length;
    this.#values += names.length * entry.value.size;
    if (this.#nodes > maxNodes || this.#values > MAX_VALUES) {
      this.#problems.errorOnce(
        "too_large",
        entry.place,
        here,
        "the ranges of nodes stand for more than a lab can have",
        `at most ${maxNodes} nodes`,
      );
      return [];
    }
    return names.map(({ name, items }) => {
      const locals = new Map(this.#variables).set("node", text(name, entry));
      for (const [index, item] of items.entries()) locals.set(index === 0 ? "item" : `item${index + 1}`, text(item, entry));
      const value = new Substitution(locals, this.#problems, this.#characters).value(entry.value, here);
      return { key: name, place: entry.place, value: inherited(value), merged: false, range: { key: entry.key, value } };
    });
  }

  #twice(made: Entry, other: Entry, path: string): void {
    const line = this.#problems.line(other.place.start);
    this.#problems.error("duplicate_key", made.place, path, `the node ${JSON.stringify(made.key)} is in the range of line ${line} too`);
  }
}

/** Returns the fields of a range as fields that came in by a merge key: a node overrides them, and an edit does not remove them. */
function inherited(value: Value): Value {
  if (value.kind !== "map") return value;
  return { ...value, entries: new Map([...value.entries].map(([key, entry]) => [key, { ...entry, merged: true }])) };
}

/** Returns a node's own entry, with the fields of its range that it does not set. */
function merged(own: Entry, made: Entry | undefined): Entry {
  if (made?.value.kind !== "map") return own;
  if (own.value.kind === "scalar" && own.value.value === null) return { ...own, value: made.value };
  if (own.value.kind !== "map") return own;
  return { ...own, value: { ...own.value, entries: new Map([...made.value.entries, ...own.value.entries]) } };
}

/** A whole number keeps its type, so that a number may be an item. */
function text(value: string, { place }: Entry): ScalarValue {
  const number = /^(?:0|[1-9]\d{0,8})$/.test(value) ? Number(value) : value;
  return { kind: "scalar", value: number, text: value, size: scalarSize(value), ...place };
}
