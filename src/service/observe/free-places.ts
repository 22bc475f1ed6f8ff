import type { Position } from "../../intent/lab/lab.ts";

/** Distance between neighbours, in the unit of positions. */
const step = 150;

/**
 * Returns positions for objects without one, by id: a square grid below all placed objects. Deterministic.
 * @param ids in the order of the grid
 */
export function freePlaces(ids: readonly string[], taken: readonly Position[]): ReadonlyMap<string, Position> {
  const columns = Math.ceil(Math.sqrt(ids.length));
  const left = taken.length === 0 ? 0 : taken.reduce((least, { x }) => Math.min(least, x), Number.POSITIVE_INFINITY);
  const top = taken.reduce((most, { y }) => Math.max(most, y + step), 0);
  return new Map(ids.map((id, i) => [id, { x: left + (i % columns) * step, y: top + Math.floor(i / columns) * step }]));
}
