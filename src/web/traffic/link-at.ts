import type { Place } from "../topology/layout/layout.ts";
import { type LinkCurve, placeOn } from "../topology/graph/link-shape.ts";

/** A curve is looked at as so many straight pieces. */
const pieces = 12;

/** The link whose line is nearest to a place, among those at most `within` px away; undefined: none is. Places are of the picture. */
export function linkAt(curves: ReadonlyMap<string, LinkCurve>, at: Place, within: number): string | undefined {
  let best = within;
  let found: string | undefined;
  for (const [key, curve] of curves) {
    if (!isNear(curve, at, best)) continue;
    let from = curve.a;
    for (let piece = 1; piece <= pieces; piece++) {
      const to = placeOn(curve, piece / pieces);
      const away = distance(at, from, to);
      if (away <= best) {
        best = away;
        found = key;
      }
      from = to;
    }
  }
  return found;
}

/** Whether a place is within the box of a curve's three points, which hold all of it. */
function isNear({ a, bend, b }: LinkCurve, { x, y }: Place, within: number): boolean {
  return (
    x >= Math.min(a.x, bend.x, b.x) - within &&
    x <= Math.max(a.x, bend.x, b.x) + within &&
    y >= Math.min(a.y, bend.y, b.y) - within &&
    y <= Math.max(a.y, bend.y, b.y) + within
  );
}

/** Of a place from a straight line between two others. */
function distance({ x, y }: Place, from: Place, to: Place): number {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const along = Math.max(0, Math.min(1, ((x - from.x) * dx + (y - from.y) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - from.x - along * dx, y - from.y - along * dy);
}
