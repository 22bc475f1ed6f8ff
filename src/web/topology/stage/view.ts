import { boundsOf } from "../../../intent/shapes/shape.ts";
import type { Place } from "../../../layout/layout.ts";
import type { Graph } from "../graph/graph.ts";

/** The view of the drawing: its origin is at (x, y) of the stage, px, and one px of the drawing is `scale` px on the stage. */
export interface View {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

/** A rectangle of the drawing, in px of the drawing. */
export interface Area {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

const margin = 80;
const maxScale = 4;
const minScale = 0.03;

/** Returns the area that the drawing covers, with a margin. */
export function areaOf({ nodes, texts, shapes }: Pick<Graph, "nodes" | "texts" | "shapes">): Area {
  if (nodes.length + texts.length + shapes.length === 0) return { left: 0, top: 0, width: 2 * margin, height: 2 * margin };
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  const cover = (x: number, y: number) => {
    left = Math.min(left, x);
    top = Math.min(top, y);
    right = Math.max(right, x);
    bottom = Math.max(bottom, y);
  };
  for (const { at } of [...nodes, ...texts]) cover(at.x, at.y);
  for (const { x, y, width, height } of shapes.map(({ shape }) => boundsOf(shape))) {
    cover(x, y);
    cover(x + width, y + height);
  }
  return { left: left - margin, top: top - margin, width: right - left + 2 * margin, height: bottom - top + 2 * margin };
}

/** Widths of the parts over the upper, the left and the lower edge of the stage, px. */
export interface Inset {
  readonly top: number;
  readonly left: number;
  readonly bottom: number;
}

const noInset: Inset = { top: 0, left: 0, bottom: 0 };

/** Returns whether all nodes are on the stage, and not below the parts over its edges. */
export function showsAll({ nodes }: Pick<Graph, "nodes">, { x, y, scale }: View, stage: Size, inset: Inset = noInset): boolean {
  const edge = 40 * scale;
  return nodes.every(({ at }) => {
    const [left, top] = [x + at.x * scale, y + at.y * scale];
    return left >= inset.left + edge && left <= stage.width - edge && top >= inset.top + edge && top <= stage.height - inset.bottom - edge;
  });
}

/** Returns the view that shows the whole area in the middle of the part of the stage that the inset leaves free, enlarged at most 1.5 times. */
export function fitted({ left, top, width, height }: Area, stage: Size, inset: Inset = noInset): View {
  const room = { width: Math.max(1, stage.width - inset.left), height: Math.max(1, stage.height - inset.top - inset.bottom) };
  const scale = Math.max(minScale, Math.min(1.5, room.width / width, room.height / height));
  return {
    scale,
    x: inset.left + (room.width - width * scale) / 2 - left * scale,
    y: inset.top + (room.height - height * scale) / 2 - top * scale,
  };
}

/** Zooms by a factor. The point of the drawing at `at` of the stage stays there. */
export function zoomed({ x, y, scale }: View, by: number, at: Place): View {
  const next = Math.min(maxScale, Math.max(minScale, scale * by));
  return { scale: next, x: at.x - ((at.x - x) * next) / scale, y: at.y - ((at.y - y) * next) / scale };
}

/** Returns the view with a position in the middle of the stage, at a scale that shows labels. */
export function centred({ scale }: View, { x, y }: Place, stage: Size): View {
  const next = Math.max(scale, 0.8);
  return { scale: next, x: stage.width / 2 - x * next, y: stage.height / 2 - y * next };
}

/** Pans as little as needed to bring a position at least `inset` px inside the stage. */
export function revealing(view: View, at: Place, stage: Size, inset = 60): View {
  const into = (where: number, length: number) => Math.min(Math.max(where, inset), Math.max(inset, length - inset)) - where;
  return {
    scale: view.scale,
    x: view.x + into(view.x + at.x * view.scale, stage.width),
    y: view.y + into(view.y + at.y * view.scale, stage.height),
  };
}
