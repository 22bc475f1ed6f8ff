import { boxOf, canonicalShape, type LabBox, type LabShape, shapeLimits } from "../../../intent/shapes/shape.ts";
import type { Place } from "../../../layout/layout.ts";
import { keptIds } from "./kept-ids.ts";

/** A shape on the drawing, behind links and nodes. */
export interface GraphShape {
  /** "shape:" and a number, which stays while the shape is moved, resized or changed otherwise. */
  readonly id: string;
  readonly shape: LabShape;
  readonly at: Place;
}

/** The point of a shape that is dragged to resize it: an edge or corner of a rectangle, by its direction, or an end of a line. "rotate" turns a box. */
export type Handle = "n" | "ne" | "e" | "se" | "s" | "sw" | "w" | "nw" | "start" | "end" | "rotate";

const boxHandles: Readonly<Record<string, readonly [x: number, y: number]>> = {
  nw: [0, 0],
  n: [0.5, 0],
  ne: [1, 0],
  e: [1, 0.5],
  se: [1, 1],
  s: [0.5, 1],
  sw: [0, 1],
  w: [0, 0.5],
};

const smallest = 10;
/** Distance of the handle that turns a box from its upper edge, px. */
const rotateDistance = 28;
/** A dragged box is turned by multiples of this, degrees. */
const rotateStep = 5;

/** Returns the shapes with their ids. A shape that is equal to one of before has its id; so has one that is like it, if it is the only changed one. */
export function shapesWithIds(before: readonly GraphShape[], shapes: readonly LabShape[]): readonly GraphShape[] {
  const named = before.map(({ id, shape }) => ({ id, value: shape }));
  return keptIds(shapePrefix, named, shapes, [
    (a, b) => a.type === b.type && sameSize(a, b) && a.color === b.color,
    (a, b) => a.type === b.type && (a.x === b.x || a.y === b.y),
    (a, b) => a.type === b.type,
  ]).map(({ id, value }) => ({ id, shape: value, at: { x: value.x, y: value.y } }));
}

const shapePrefix = "shape:";

export function isShapeId(id: string): boolean {
  return id.startsWith(shapePrefix);
}

/** Describes a shape in words. */
export function shapeText(shape: LabShape): string {
  const { width, height } = boxOf(shape);
  const size = `${Math.round(width)} × ${Math.round(height)}`;
  const rotation = shape.type === "line" || shape.rotation === undefined ? "" : `, turned by ${shape.rotation}°`;
  return `${{ rectangle: "Rectangle", ellipse: "Ellipse", line: "Line" }[shape.type]} ${size}${rotation}`;
}

/** Returns the handles of a shape, with their positions from its own. */
export function handlesOf(shape: LabShape): readonly { readonly handle: Handle; readonly x: number; readonly y: number }[] {
  if (shape.type === "line")
    return [
      { handle: "start", x: 0, y: 0 },
      { handle: "end", x: shape.x2 - shape.x, y: shape.y2 - shape.y },
    ];
  const sides = Object.entries(boxHandles).map(([handle, [x, y]]) => ({
    handle: handle as Handle,
    x: x * shape.width,
    y: y * shape.height,
  }));
  return [...sides, { handle: "rotate", x: shape.width / 2, y: -rotateDistance }];
}

/** Returns a box turned so that its upper edge faces a point of the drawing. */
export function facing(shape: LabBox, { x, y }: Place): LabShape {
  const [dx, dy] = [x - shape.x - shape.width / 2, y - shape.y - shape.height / 2];
  const degrees = (Math.atan2(dx, -dy) / Math.PI) * 180;
  return canonicalShape({ ...shape, rotation: Math.round(degrees / rotateStep) * rotateStep });
}

export function movedShape(shape: LabShape, { x, y }: Place): LabShape {
  const to = { x: within(x), y: within(y) };
  if (shape.type !== "line") return { ...shape, ...to };
  return { ...shape, ...to, x2: within(shape.x2 + to.x - shape.x), y2: within(shape.y2 + to.y - shape.y) };
}

/** Returns the shape after its handle was dragged by this far. An edge that is dragged over the opposite one becomes that one. */
export function resizedShape(shape: LabShape, handle: Handle, dx: number, dy: number): LabShape {
  if (shape.type === "line") {
    if (handle === "start") return { ...shape, x: within(shape.x + dx), y: within(shape.y + dy) };
    return { ...shape, x2: within(shape.x2 + dx), y2: within(shape.y2 + dy) };
  }
  const { x, y, width, height, rotation = 0 } = shape;
  const [along, across] = turned(dx, dy, -rotation);
  const left = x + (handle.includes("w") ? along : 0);
  const right = x + width + (handle.includes("e") ? along : 0);
  const top = y + (handle.startsWith("n") ? across : 0);
  const bottom = y + height + (handle.startsWith("s") ? across : 0);
  const box = boxBetween({ x: left, y: top }, { x: right, y: bottom });
  if (rotation === 0) return { ...shape, ...box };
  // The opposite edge stays where it is: the middle moves in the direction of the box.
  const [mx, my] = [box.x + box.width / 2 - x - width / 2, box.y + box.height / 2 - y - height / 2];
  const [wx, wy] = turned(mx, my, rotation);
  return { ...shape, ...box, x: within(x + width / 2 + wx - box.width / 2), y: within(y + height / 2 + wy - box.height / 2) };
}

/** Returns a shape from one point of the drawing to another. */
export function shapeBetween(type: LabShape["type"], from: Place, to: Place): LabShape {
  if (type === "line") return { type, x: within(from.x), y: within(from.y), x2: within(to.x), y2: within(to.y) };
  return { type, ...boxBetween(from, to) };
}

/** Returns a shape of the usual size, whose middle is at a point. */
export function usualShape(type: LabShape["type"], { x, y }: Place): LabShape {
  const height = type === "line" ? 0 : 120;
  return shapeBetween(type, { x: x - 100, y: y - height / 2 }, { x: x + 100, y: y + height / 2 });
}

/** Returns a vector turned clockwise, by degrees. */
function turned(x: number, y: number, degrees: number): readonly [x: number, y: number] {
  const [sine, cosine] = [Math.sin((degrees / 180) * Math.PI), Math.cos((degrees / 180) * Math.PI)];
  return [x * cosine - y * sine, x * sine + y * cosine];
}

function boxBetween(a: Place, b: Place) {
  const [x, y] = [within(Math.min(a.x, b.x)), within(Math.min(a.y, b.y))];
  const [width, height] = [Math.round(Math.abs(b.x - a.x)), Math.round(Math.abs(b.y - a.y))];
  return { x, y, width: Math.max(smallest, width), height: Math.max(smallest, height) };
}

function sameSize(a: LabShape, b: LabShape): boolean {
  const [one, other] = [boxOf(a), boxOf(b)];
  return one.width === other.width && one.height === other.height;
}

function within(value: number): number {
  return Math.min(shapeLimits.place.max, Math.max(shapeLimits.place.min, Math.round(value))) + 0;
}
