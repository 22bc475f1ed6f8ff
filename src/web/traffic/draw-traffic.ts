import type { Place } from "../../layout/layout.ts";
import { type LinkCurve, placeOn } from "../topology/graph/link-shape.ts";
import type { View } from "../topology/stage/view.ts";
import type { LiveTraffic } from "./feed/live-traffic.ts";
import { type Dot, travelMs } from "./feed/traffic-dots.ts";

export interface TrafficScene {
  readonly traffic: LiveTraffic;
  /** The line of each link, by key. */
  readonly curves: ReadonlyMap<string, LinkCurve>;
  /** The end of each link where its curve begins, by key of the link. */
  readonly startEnds: ReadonlyMap<string, string>;
  readonly view: View;
  readonly textColor: string;
  readonly background: string;
}

/** Radius on the screen, px. */
const dotRadius = 4.5;
/** Radius of a node, px of the drawing: packets are not drawn over nodes. */
const nodeRadius = 26;

export function toScreen({ x, y, scale }: View, at: Place): Place {
  return { x: x + at.x * scale, y: y + at.y * scale };
}

/** Draws packets as dots on their links. @param time ms, by the clock of animation frames */
export function drawDots(context: CanvasRenderingContext2D, scene: TrafficScene, dots: readonly Dot[], time: number): void {
  const { traffic, curves, startEnds, view, background } = scene;
  for (const { link, from, filter, begun } of dots) {
    const curve = curves.get(link);
    const color = traffic.colors.get(filter);
    if (curve === undefined || color === undefined) continue;
    const progress = Math.max(0, Math.min(1, (time - begun) / travelMs));
    const { x, y } = toScreen(view, placeBetweenNodes(curve, startEnds.get(link) === from ? progress : 1 - progress));
    context.beginPath();
    context.arc(x, y, dotRadius, 0, 2 * Math.PI);
    context.fillStyle = color;
    context.fill();
    context.lineWidth = 1.5;
    context.strokeStyle = background;
    context.stroke();
  }
}

/** Draws packets per second in the middle of each link, one row per filter: used if the user prefers reduced motion. */
export function drawRates(context: CanvasRenderingContext2D, scene: TrafficScene): void {
  const { traffic, curves, view } = scene;
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  const rows = new Map<string, number>();
  for (const [filter, color] of traffic.colors) {
    const sums = new Map<string, number>();
    for (const rate of traffic.rates) {
      if (rate.filter === filter) sums.set(rate.link, (sums.get(rate.link) ?? 0) + rate.packets);
    }
    for (const [link, packets] of sums) {
      const curve = curves.get(link);
      if (curve === undefined) continue;
      const row = rows.get(link) ?? 0;
      rows.set(link, row + 1);
      const text = `${traffic.estimated ? "≈ " : ""}${packets < 10 ? packets.toFixed(1) : packets.toFixed(0)}/s`;
      drawBadge(context, scene, { middle: toScreen(view, placeOn(curve, 0.5)), row, text, color });
    }
  }
}

interface Badge {
  readonly middle: Place;
  readonly row: number;
  readonly text: string;
  readonly color: string;
}

function drawBadge(context: CanvasRenderingContext2D, { textColor, background }: TrafficScene, badge: Badge): void {
  const { middle, row, text, color } = badge;
  const width = context.measureText(text).width + 20;
  const left = middle.x - width / 2;
  const top = middle.y - 8 + row * 17;
  context.fillStyle = background;
  context.strokeStyle = color;
  context.lineWidth = 1.5;
  context.beginPath();
  context.roundRect(left, top, width, 16, 8);
  context.fill();
  context.stroke();
  context.fillStyle = color;
  context.beginPath();
  context.arc(left + 9, top + 8, 3.5, 0, 2 * Math.PI);
  context.fill();
  context.fillStyle = textColor;
  context.fillText(text, left + 15, top + 8.5);
}

/** Returns a point of the curve between the edges of its two nodes. @param progress 0 at the first node, 1 at the second */
function placeBetweenNodes(curve: LinkCurve, progress: number): Place {
  const inset = Math.min(0.4, nodeRadius / (Math.hypot(curve.b.x - curve.a.x, curve.b.y - curve.a.y) || 1));
  return placeOn(curve, inset + progress * (1 - 2 * inset));
}
