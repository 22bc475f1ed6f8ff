import type { Place } from "../../../layout/layout.ts";
import { BoxIndex } from "./box-index.ts";
import type { GraphLink, GraphNode } from "./graph.ts";
import { type Box, labelBox, labelLetter, touches } from "./labels.ts";

/** The position of an interface name. */
export interface PortLabel extends Place {
  /** Whether it covers another name, because there is no room for it. */
  readonly isCrowded: boolean;
}

export interface LinkShape {
  /** The line, as the data of an SVG path. */
  readonly line: string;
  /** Positions of the interface names: the middle of their base line. */
  readonly fromPort: PortLabel;
  readonly toPort: PortLabel;
  readonly note: Place;
  readonly noteAnchor: "start" | "middle" | "end";
  /** The middle of the line, for the sign of a suspended or impaired link. */
  readonly middle: Place;
  /** A place on the line beside its middle, for the button that shows its packets. */
  readonly packets: Place;
}

type End = Pick<GraphNode, "at" | "label" | "kind">;

/** Estimated width of a letter of an interface name (10 px font), px; generous, because fonts differ. */
const portLetter = 6.4;
const laneGap = 26;
/** Distance of the text of a link from its line, px: beyond its sign. */
const noteGap = 16;
/** Distances of the button for packets from the middle of the line, px; the first that covers no interface name of the link is used. The middle selects the link. */
const packetsGaps = [24, -24, 20, -20, 18, -18, 30, -30, 36, -36, 44, -44, 54, -54];
/** Radius of the button for packets, px. */
const packetsRadius = 9;

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
 * Returns the shape of a link between two nodes. Interface names are placed beside the line, and added to the index. They do not cover the nodes, their
 * labels, or the boxes of the index.
 */
export function linkShape(
  link: Pick<GraphLink, "fromInterface" | "toInterface" | "lane" | "lanes">,
  from: End,
  to: End,
  index: BoxIndex = new BoxIndex(),
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
  const port = (near: (t: number) => number, text: string): PortLabel => {
    const wide = gapOf(text);
    let second: Place | undefined;
    for (let away = 34; away < length * 0.48; away += 6) {
      for (const gap of [wide, -wide]) {
        const place = beside(on(near(away / length)), gap);
        const box = portBox(place, text);
        if (obstacles.some((each) => touches(each, box))) continue;
        if (!index.isTaken(box)) {
          if (text !== "") index.add(box);
          return { ...place, isCrowded: false };
        }
        // Used if there is no room for all names: the nearest position that covers no node.
        second ??= place;
      }
    }
    return { ...(second ?? beside(on(near(0.3)), wide)), isCrowded: true };
  };
  const gap = across.y > 0 ? -noteGap : noteGap;
  const [fromPort, toPort] = [port((t) => t, link.fromInterface), port((t) => 1 - t, link.toInterface)];
  const ports = [portBox(fromPort, link.fromInterface), portBox(toPort, link.toInterface)];
  return {
    line: `M${a.x} ${a.y}Q${bend.x} ${bend.y} ${b.x} ${b.y}`,
    fromPort,
    toPort,
    note: beside(on(0.5), gap),
    noteAnchor: Math.abs(across.x) < 0.5 ? "middle" : across.x * gap > 0 ? "start" : "end",
    middle: on(0.5),
    packets: packetsPlace((away) => on(0.5 + Math.max(-0.25, Math.min(0.25, away / length))), ports),
  };
}

/** Returns the place of the button for packets. @param at returns the place that is this far from the middle of the line */
function packetsPlace(at: (away: number) => Place, ports: readonly Box[]): Place {
  const covers = ({ x, y }: Place) => {
    const box = { left: x - packetsRadius, right: x + packetsRadius, top: y - packetsRadius, bottom: y + packetsRadius };
    return ports.some((port) => touches(port, box));
  };
  const places = packetsGaps.map(at);
  return places.find((place) => !covers(place)) ?? places[0]!;
}

/** Returns the unit vector at a right angle to the line from `a` to `b`. */
function acrossOf(a: Place, b: Place): Place {
  const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
  return { x: -(b.y - a.y) / length, y: (b.x - a.x) / length };
}

/** Returns the boxes that a node or network covers: its shape, and the label below a node. */
export function boxesOf(end: End): readonly Box[] {
  const { at, label, kind } = end;
  const box = (halfWidth: number, top: number, bottom: number): Box => ({
    left: at.x - halfWidth,
    right: at.x + halfWidth,
    top: at.y + top,
    bottom: at.y + bottom,
  });
  if (kind === "network") return [box(networkHalf(label), -18, 18)];
  return [box(28, -28, 24), labelBox(end)];
}

export function portBox({ x, y }: Place, text: string): Box {
  const half = (text.length * portLetter) / 2;
  return { left: x - half, right: x + half, top: y - 9, bottom: y + 3 };
}
