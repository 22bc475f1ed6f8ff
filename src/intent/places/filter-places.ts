import { Lines } from "../diagnostics/lines.ts";
import { pointer } from "../diagnostics/problems.ts";
import { readDocument } from "../read/read.ts";
import { type ValuePlace, valuePlace } from "./value-place.ts";

/** Returns the place of each traffic filter's match, by the filter's name. A text that cannot be read has none. */
export function filterPlaces(yaml: string, files: Readonly<Record<string, string>>): ReadonlyMap<string, ValuePlace> {
  const { reading } = readDocument(yaml, files);
  const lines = new Lines(yaml);
  const places = new Map<string, ValuePlace>();
  if (reading === undefined) return places;
  const list = pointer(reading.document.has("traffic_filters") ? "" : reading.bodyPath, "traffic_filters");
  for (const { index, value, filter } of reading.filters) {
    const entry = value.kind === "map" ? value.entries.get("match") : undefined;
    if (entry === undefined) continue;
    places.set(filter.name, valuePlace(lines, entry, pointer(pointer(list, index), "match")));
  }
  return places;
}
