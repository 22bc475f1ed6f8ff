import type { Place } from "../../layout/layout.ts";
import { type LinkCurve, placeOn } from "../topology/graph/link-shape.ts";

/** A curve is approximated by this number of straight pieces. */
const pieces = 12;

/** Returns the key of the link whose line is nearest to a position of the drawing; undefined if none is within `within` px. */
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

/** Whether a position is within the bounding box of the curve's control points, which contains the curve. */
function isNear({ a, bend, b }: LinkCurve, { x, y }: Place, within: number): boolean {
  return (
    x >= Math.min(a.x, bend.x, b.x) - within &&
    x <= Math.max(a.x, bend.x, b.x) + within &&
    y >= Math.min(a.y, bend.y, b.y) - within &&
    y <= Math.max(a.y, bend.y, b.y) + within
  );
}

/** Returns the distance of a position from a line segment. */
function distance({ x, y }: Place, from: Place, to: Place): number {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const along = Math.max(0, Math.min(1, ((x - from.x) * dx + (y - from.y) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - from.x - along * dx, y - from.y - along * dy);
}
