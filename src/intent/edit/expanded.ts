// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to variables have this syntax

import type { Place } from "../diagnostics/problems.ts";
import type { MapValue, Value } from "../parse/parse.ts";
import { variablesEntry } from "../parse/variables.ts";
import type { Reading } from "../read/read.ts";
import type { Data } from "../write/write.ts";
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
  const section = root.entries.get("addressing") ?? root.entries.get("routing");
  if (section !== undefined) return { what: section.key, place: section.place };
  for (const { entry, addresses, routing, template } of nodes.values()) {
    if (template !== undefined) return { what: "a template", place: entry.place };
    if (addresses !== undefined || routing !== undefined) {
      return { what: addresses === undefined ? "routing" : "addresses", place: entry.place };
    }
    if (entry.range !== undefined) return { what: entry.range.key, place: entry.place };
  }
  const link = links.find(({ isOneOfSeveral }) => isOneOfSeveral);
  return link === undefined ? undefined : { what: "the links", place: link.value };
}

/** Returns the target with each "${" of its texts written as "$${", for a place whose references are replaced. */
export function escaped<T extends Target | typeof remove>(target: T): T {
  return escapedPart(target) as T;
}

function escapedPart(target: Target | typeof remove | undefined): unknown {
  // A replacement that is a text would have "$$" for one "$".
  if (typeof target === "string") return target.replaceAll("${", () => "$${");
  if (target instanceof Changes) {
    return new Changes(new Map([...target.entries].map(([key, value]) => [key, escaped(value)])), target.order);
  }
  if (target instanceof Items) {
    return new Items(target.items.map((item) => (item.to === undefined ? item : { ...item, to: escaped(item.to) })));
  }
  if (Array.isArray(target)) return target.map((item) => escapedPart(item as Data));
  if (typeof target !== "object" || target === null) return target;
  return Object.fromEntries(Object.entries(target).map(([key, value]) => [key, escapedPart(value as Data | undefined)]));
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
