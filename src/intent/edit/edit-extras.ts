import { sameData } from "../lab/canonical.ts";
import type { Lab, LabText, TrafficFilter } from "../lab/lab.ts";
import type { Value } from "../parse/parse.ts";
import type { Reading } from "../read/read.ts";
import { authorFilter, authorText } from "../write/author.ts";
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

/** Texts have no name. Equal texts stay; the others are changed in order. */
export function changeTexts(reading: Reading, after: Lab): Items | undefined {
  const left = [...after.texts];
  const kept = reading.texts.map(({ text }) => {
    const at = left.findIndex((some) => sameData(some, text));
    if (at !== -1) left.splice(at, 1);
    return at !== -1;
  });
  if (left.length === 0 && kept.every(Boolean)) return undefined;
  const items: Item[] = [];
  for (const [position, { index, value, text }] of reading.texts.entries()) {
    if (kept[position]) items.push({ from: index });
    else {
      const next: LabText | undefined = left.shift();
      if (next !== undefined) items.push({ from: index, to: changeFields(value, authorText(text), authorText(next)) });
    }
  }
  for (const text of left) items.push({ to: authorText(text) });
  return new Items(items);
}

function changeFields(
  value: Value,
  before: { readonly [key: string]: Data | undefined },
  after: { readonly [key: string]: Data | undefined },
): Target {
  if (value.kind !== "map") return after;
  const edits = new Map<string, Target | typeof remove>();
  for (const key of Object.keys(after)) {
    if (sameData(before[key], after[key])) continue;
    edits.set(key, after[key] ?? (value.entries.get(key)?.merged ? null : remove));
  }
  return new Changes(edits);
}
