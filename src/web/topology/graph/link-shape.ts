import type { Place } from "../layout/layout.ts";
import type { GraphLink, GraphNode } from "./graph.ts";

export interface LinkShape {
  /** The line, as the data of an SVG path. */
  readonly line: string;
  /** Positions of the interface names: the middle of their base line. */
  readonly fromPort: Place;
  readonly toPort: Place;
  readonly note: Place;
}

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

type End = Pick<GraphNode, "at" | "label" | "kind">;

/** Estimated width of a letter, px, of a node's label (13 px font) and of an interface name (10 px font); generous, because fonts differ. */
const labelLetter = 8;
const portLetter = 6.4;
const laneGap = 26;

/** Returns half the width of a network's shape, px. */
export function networkHalf(label: string): number {
  return Math.max(36, (label.length * labelLetter) / 2 + 12);
}

/** A quadratic Bézier curve. */
export interface LinkCurve {
  readonly a: Place;
  readonly bend: Place;
  readonly b: Place;
}

/** Returns the curve of a link. Parallel links bend apart. */
export function linkCurve({ lane, lanes }: Pick<GraphLink, "lane" | "lanes">, a: Place, b: Place): LinkCurve {
  const across = acrossOf(a, b);
  const shift = (lane - (lanes - 1) / 2) * laneGap;
  return { a, b, bend: { x: (a.x + b.x) / 2 + across.x * shift * 2, y: (a.y + b.y) / 2 + across.y * shift * 2 } };
}

/** Returns a point of the curve. @param t 0 at the start of the curve, 1 at its end */
export function placeOn({ a, bend, b }: LinkCurve, t: number): Place {
  return {
    x: (1 - t) ** 2 * a.x + 2 * t * (1 - t) * bend.x + t ** 2 * b.x,
    y: (1 - t) ** 2 * a.y + 2 * t * (1 - t) * bend.y + t ** 2 * b.y,
  };
}

/**
 * Returns the shape of a link between two nodes. Interface names are placed beside the line. They do not cover the nodes, their labels, or the names in
 * `written`, which are already placed around the nodes.
 */
export function linkShape(
  link: Pick<GraphLink, "fromInterface" | "toInterface" | "lane" | "lanes">,
  from: End,
  to: End,
  written: { readonly from: readonly Box[]; readonly to: readonly Box[] } = { from: [], to: [] },
): LinkShape {
  const [a, b] = [from.at, to.at];
  const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
  const across = acrossOf(a, b);
  const curve = linkCurve(link, a, b);
  const { bend } = curve;
  const on = (t: number): Place => placeOn(curve, t);
  const beside = ({ x, y }: Place, gap: number): Place => ({ x: x + across.x * gap, y: y + across.y * gap + 3 });
  const obstacles = [...boxesOf(from), ...boxesOf(to)];
  // The steeper the line, the farther a horizontal text extends across it.
  const gapOf = (text: string) => 8 + Math.abs(across.x) * ((text.length * portLetter) / 2 - 2);
  const port = (near: (t: number) => number, text: string, others: readonly Box[]): Place => {
    const wide = gapOf(text);
    let second: Place | undefined;
    for (let away = 34; away < length * 0.48; away += 6) {
      for (const gap of [wide, -wide]) {
        const place = beside(on(near(away / length)), gap);
        const box = portBox(place, text);
        if (obstacles.some((each) => touches(each, box))) continue;
        if (!others.some((each) => touches(each, box))) return place;
        // Used if there is no room for all names: the nearest position that covers no node.
        second ??= place;
      }
    }
    return second ?? beside(on(near(0.3)), wide);
  };
  return {
    line: `M${a.x} ${a.y}Q${bend.x} ${bend.y} ${b.x} ${b.y}`,
    fromPort: port((t) => t, link.fromInterface, written.from),
    toPort: port((t) => 1 - t, link.toInterface, written.to),
    note: beside(on(0.5), across.y > 0 ? -12 : 12),
  };
}

/** Returns the unit vector at a right angle to the line from `a` to `b`. */
function acrossOf(a: Place, b: Place): Place {
  const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
  return { x: -(b.y - a.y) / length, y: (b.x - a.x) / length };
}

/** Returns the boxes that a node or network covers: its shape, and the label below a node. */
export function boxesOf({ at, label, kind }: End): readonly Box[] {
  const box = (halfWidth: number, top: number, bottom: number): Box => ({
    left: at.x - halfWidth,
    right: at.x + halfWidth,
    top: at.y + top,
    bottom: at.y + bottom,
  });
  if (kind === "network") return [box(networkHalf(label), -18, 18)];
  return [box(28, -28, 24), box((label.length * labelLetter) / 2, 26, 46)];
}

export function portBox({ x, y }: Place, text: string): Box {
  const half = (text.length * portLetter) / 2;
  return { left: x - half, right: x + half, top: y - 9, bottom: y + 3 };
}

export function touches(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}
