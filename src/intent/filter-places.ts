import { spot } from "./fields.ts";
import { Lines } from "./lines.ts";
import type { Location } from "./locate.ts";
import { pointer } from "./problems.ts";
import { readDocument } from "./read.ts";

/** Where the match of a traffic filter stands. */
export interface FilterPlace extends Location {
  /** JSON pointer. */
  readonly path: string;
}

/** Where each traffic filter says what it matches, by the filter's name. A text that does not read has none. */
export function filterPlaces(yaml: string, files: Readonly<Record<string, string>>): ReadonlyMap<string, FilterPlace> {
  const { reading } = readDocument(yaml, files);
  const lines = new Lines(yaml);
  const places = new Map<string, FilterPlace>();
  if (reading === undefined) return places;
  const list = pointer(reading.document.has("traffic_filters") ? "" : reading.bodyPath, "traffic_filters");
  for (const { index, value, filter } of reading.filters) {
    const entry = value.kind === "map" ? value.entries.get("match") : undefined;
    if (entry === undefined) continue;
    const { start, end } = spot({ path: "", ...entry });
    const [from, to] = [lines.position(start), lines.position(end)];
    const path = pointer(pointer(list, index), "match");
    places.set(filter.name, { path, line: from.line, column: from.column, end_line: to.line, end_column: to.column });
  }
  return places;
}
