import type { Place } from "../../layout/layout.ts";
import { type LinkCurve, placeOn } from "../topology/graph/link-shape.ts";
import type { View } from "../topology/stage/view.ts";
import { heatStep } from "./feed/heat.ts";
import type { LiveTraffic } from "./feed/live-traffic.ts";
import { bitsText } from "./feed/rate-text.ts";
import { type Dot, travelMs } from "./feed/traffic-dots.ts";
import type { TrafficRate } from "./feed/traffic-rates.ts";

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
  for (const { link, from, kind, begun } of dots) {
    const curve = curves.get(link);
    const color = traffic.kinds.get(kind)?.color;
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

/** Draws packets per second in the middle of each link, one row per kind: used if the user prefers reduced motion. */
export function drawRates(context: CanvasRenderingContext2D, scene: TrafficScene): void {
  const { traffic, curves, view } = scene;
  const rows = new Map<string, number>();
  for (const { key, color } of traffic.kinds.values()) {
    for (const [link, { packets }] of sumsByLink(traffic.rates.filter(({ kind }) => kind === key))) {
      const curve = curves.get(link);
      if (curve === undefined) continue;
      const row = rows.get(link) ?? 0;
      rows.set(link, row + 1);
      const text = `${traffic.estimated ? "≈ " : ""}${packets < 10 ? packets.toFixed(1) : packets.toFixed(0)}/s`;
      drawBadge(context, scene, { middle: toScreen(view, placeOn(curve, 0.5)), row, text, color });
    }
  }
}

/** A curve is drawn as this number of straight pieces. */
const heatPieces = 12;

/** Draws each link in the width and colour of its rate. */
export function drawHeat(context: CanvasRenderingContext2D, { traffic, curves, view }: TrafficScene): void {
  context.lineCap = "round";
  for (const [link, { bits }] of sumsByLink(traffic.rates)) {
    const [curve, step] = [curves.get(link), heatStep(bits)];
    if (curve === undefined || step === undefined) continue;
    context.beginPath();
    for (let piece = 0; piece <= heatPieces; piece++) {
      const { x, y } = toScreen(view, placeBetweenNodes(curve, piece / heatPieces));
      context.lineTo(x, y);
    }
    context.strokeStyle = step.color;
    context.lineWidth = step.width;
    context.stroke();
  }
}

/** Minimum length of a link on the screen that shows its rate, px. */
const minRatedLength = 260;
/** Distance of the rate from the middle of the link, px: the middle has its sign, and the other side the button for its packets. */
const rateGap = 46;

/** Draws the rate of each link, where there is room for it. */
export function drawLinkRates(context: CanvasRenderingContext2D, scene: TrafficScene): void {
  const { traffic, curves, view } = scene;
  for (const [link, { bits }] of sumsByLink(traffic.rates)) {
    const curve = curves.get(link);
    if (curve === undefined || bits < 1) continue;
    const length = Math.hypot(curve.b.x - curve.a.x, curve.b.y - curve.a.y) * view.scale;
    if (length < minRatedLength) continue;
    const text = `${traffic.estimated ? "≈ " : ""}${bitsText(bits)}`;
    drawBadge(context, scene, { middle: toScreen(view, placeOn(curve, 0.5 - rateGap / length)), row: 0, text });
  }
}

interface LinkSum {
  readonly packets: number;
  readonly bits: number;
}

/** Returns the rates of both directions and all kinds together, by link. */
function sumsByLink(rates: readonly TrafficRate[]): ReadonlyMap<string, LinkSum> {
  const sums = new Map<string, LinkSum>();
  for (const { link, packets, bits } of rates) {
    const before = sums.get(link);
    sums.set(link, { packets: (before?.packets ?? 0) + packets, bits: (before?.bits ?? 0) + bits });
  }
  return sums;
}

interface Badge {
  readonly middle: Place;
  readonly row: number;
  readonly text: string;
  /** Colour of the kind of packets; absent: of all packets. */
  readonly color?: string;
}

function drawBadge(context: CanvasRenderingContext2D, { textColor, background }: TrafficScene, badge: Badge): void {
  const { middle, row, text, color } = badge;
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  const dotWidth = color === undefined ? 0 : 8;
  const width = context.measureText(text).width + 12 + dotWidth;
  const left = middle.x - width / 2;
  const top = middle.y - 8 + row * 17;
  context.fillStyle = background;
  context.strokeStyle = color ?? textColor;
  context.lineWidth = color === undefined ? 0.75 : 1.5;
  context.beginPath();
  context.roundRect(left, top, width, 16, 8);
  context.fill();
  context.stroke();
  if (color !== undefined) {
    context.fillStyle = color;
    context.beginPath();
    context.arc(left + 9, top + 8, 3.5, 0, 2 * Math.PI);
    context.fill();
  }
  context.fillStyle = textColor;
  context.fillText(text, left + 6 + dotWidth, top + 8.5);
}

/** Returns a point of the curve between the edges of its two nodes. @param progress 0 at the first node, 1 at the second */
function placeBetweenNodes(curve: LinkCurve, progress: number): Place {
  const inset = Math.min(0.4, nodeRadius / (Math.hypot(curve.b.x - curve.a.x, curve.b.y - curve.a.y) || 1));
  return placeOn(curve, inset + progress * (1 - 2 * inset));
}
