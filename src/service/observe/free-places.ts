import type { Position } from "../../intent/lab/lab.ts";

/** Between neighbours, as pages draw them. */
const step = 150;

/**
 * Positions for things that have none, by id: a square grid below everything that has a position. The same things always get the same positions.
 * @param ids in the order of the grid
 */
export function freePlaces(ids: readonly string[], taken: readonly Position[]): ReadonlyMap<string, Position> {
  const columns = Math.ceil(Math.sqrt(ids.length));
  const left = taken.length === 0 ? 0 : taken.reduce((least, { x }) => Math.min(least, x), Number.POSITIVE_INFINITY);
  const top = taken.reduce((most, { y }) => Math.max(most, y + step), 0);
  return new Map(ids.map((id, i) => [id, { x: left + (i % columns) * step, y: top + Math.floor(i / columns) * step }]));
}
