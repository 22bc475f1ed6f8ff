import type { Place } from "../diagnostics/problems.ts";
import type { MapValue, Value } from "../parse/parse.ts";
import { variablesEntry } from "../parse/variables.ts";
import type { Reading } from "../read/read.ts";
import { Changes, Items, remove, type Target } from "./rewrite.ts";

/** Thrown for a change of a part of something that one place of the text stands for. */
export class CannotChangePart extends Error {
  readonly place: Place;

  constructor(place: Place, message: string) {
    super(message);
    this.place = place;
  }
}

/** Returns the first helper of a text, which a printed lab would not have: its word and its place. */
export function firstHelper({ root, nodes, links }: Reading): { readonly what: string; readonly place: Place } | undefined {
  const variables = variablesEntry(root);
  if (variables !== undefined) return { what: variables.key, place: variables.place };
  for (const { entry } of nodes.values()) {
    if (entry.range !== undefined) return { what: entry.range.key, place: entry.place };
  }
  const link = links.find(({ isOneOfSeveral }) => isOneOfSeveral);
  return link === undefined ? undefined : { what: "the links", place: link.value };
}

/** Whether two targets write the same. */
export function sameTarget(a: Target | typeof remove | undefined, b: Target | typeof remove | undefined): boolean {
  return textOf(a) === textOf(b);
}

function textOf(target: Target | typeof remove | undefined): string {
  return JSON.stringify(plain(target) ?? null);
}

function plain(target: unknown): unknown {
  if (target === remove) return { removed: true };
  if (target instanceof Changes) return [...target.entries].map(([key, value]) => [key, plain(value)]);
  if (target instanceof Items) return target.items.map(({ from, to }) => ({ from, to: plain(to) }));
  return target;
}

/** Returns the data of a value, as it is written. */
export function dataOf(value: Value): unknown {
  if (value.kind === "scalar") return value.value;
  if (value.kind === "list") return value.items.map(dataOf);
  return Object.fromEntries([...(value as MapValue).entries].map(([key, entry]) => [key, dataOf(entry.value)]));
}
