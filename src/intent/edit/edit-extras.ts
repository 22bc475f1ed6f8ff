import { sameData } from "../lab/canonical.ts";
import type { Lab, LabText, TrafficFilter } from "../lab/lab.ts";
import type { Value } from "../parse/parse.ts";
import type { Reading } from "../read/read.ts";
import { canonicalShape, type LabShape } from "../shapes/shape.ts";
import { authorFilter, authorShape, authorText } from "../write/author.ts";
import type { Data } from "../write/write.ts";
import { Changes, Items, remove, type Target } from "./rewrite.ts";

type Item = { readonly from?: number; readonly to?: Target };

/** Traffic filters are identified by their name. */
export function changeFilters(reading: Reading, before: Lab, after: Lab): Items | undefined {
  if (sameData(before.trafficFilters, after.trafficFilters)) return undefined;
  const wanted = new Map(after.trafficFilters.map((filter) => [filter.name, filter]));
  const items: Item[] = [];
  for (const { index, value, filter } of reading.filters) {
    const now = wanted.get(filter.name);
    wanted.delete(filter.name);
    if (now === undefined) continue;
    items.push(sameData(filter, now) ? { from: index } : { from: index, to: changeFields(value, authorFilter(filter), authorFilter(now)) });
  }
  for (const filter of wanted.values()) items.push({ to: authorFilter(filter as TrafficFilter) });
  return new Items(items);
}

export function changeTexts(reading: Reading, after: Lab): Items | undefined {
  const written = reading.texts.map(({ index, value, text }) => ({ index, value, part: text }));
  return changeUnnamed<LabText>(written, after.texts, authorText, [(a, b) => a.text === b.text]);
}

export function changeShapes(reading: Reading, after: Lab): Items | undefined {
  const written = reading.shapes.map(({ index, value, shape }) => ({ index, value, part: canonicalShape(shape) }));
  return changeUnnamed<LabShape>(written, after.shapes ?? [], authorShape, [isMoved, isResized, (a, b) => a.type === b.type]);
}

function isMoved(a: LabShape, b: LabShape): boolean {
  return a.type === b.type && a.color === b.color && sameData(sizeOf(a), sizeOf(b));
}

function isResized(a: LabShape, b: LabShape): boolean {
  return a.type === b.type && a.x === b.x && a.y === b.y;
}

function sizeOf(shape: LabShape): readonly number[] {
  return shape.type === "line" ? [shape.x2 - shape.x, shape.y2 - shape.y] : [shape.width, shape.height];
}

interface Written<T> {
  readonly index: number;
  readonly value: Value;
  readonly part: T;
}

/**
 * Changes texts or shapes, which have no names. Equal ones stay as they are. Each other one of the text is paired with one of `after`, and becomes it: by the first
 * function of `likeness` that finds a pair, and by the order of the lists otherwise.
 */
function changeUnnamed<T>(
  written: readonly Written<T>[],
  after: readonly T[],
  author: (part: T) => { readonly [key: string]: Data | undefined },
  likeness: readonly ((a: T, b: T) => boolean)[],
): Items | undefined {
  const next = new Map<Written<T>, T>();
  const pair = (from: T[], isAlike: (a: T, b: T) => boolean) => {
    for (const one of written) {
      const at = next.has(one) ? -1 : from.findIndex((some) => isAlike(one.part, some));
      if (at !== -1) next.set(one, from.splice(at, 1)[0] as T);
    }
  };
  const equal = new Map<string, T[]>();
  for (const one of after) equal.set(JSON.stringify(one), [...(equal.get(JSON.stringify(one)) ?? []), one]);
  for (const one of written) {
    const same = equal.get(JSON.stringify(one.part))?.pop();
    if (same !== undefined) next.set(one, same);
  }
  const found = new Set(next.values());
  const left = after.filter((one) => !found.has(one));
  if (left.length === 0 && next.size === written.length) return undefined;
  for (const isAlike of [...likeness, () => true]) pair(left, isAlike);
  const items: Item[] = [];
  for (const one of written) {
    const to = next.get(one);
    if (to === undefined) continue;
    items.push(
      sameData(one.part, to) ? { from: one.index } : { from: one.index, to: changeFields(one.value, author(one.part), author(to)) },
    );
  }
  for (const part of left) items.push({ to: author(part) });
  return new Items(items);
}

function changeFields(
  value: Value,
  before: { readonly [key: string]: Data | undefined },
  after: { readonly [key: string]: Data | undefined },
): Target {
  if (value.kind !== "map") return after;
  const edits = new Map<string, Target | typeof remove>();
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (sameData(before[key], after[key])) continue;
    edits.set(key, after[key] ?? (value.entries.get(key)?.merged ? null : remove));
  }
  return new Changes(edits);
}
