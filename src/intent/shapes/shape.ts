import { isInvisible } from "./color.ts";

/** A shape of the drawing, behind the links and nodes. The intent alone has it: no host stores it, and plans do not compare it. */
export type LabShape = LabBox | LabLine;

/** A rectangle, or the ellipse in it. */
export interface LabBox extends ShapeLook {
  readonly type: "rectangle" | "ellipse";
  /** The upper left corner. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** A colour, as toColor returns it. Absent: empty. */
  readonly fill?: string;
  /** Clockwise around its middle, degrees. Absent: upright. */
  readonly rotation?: number;
}

/** A line from (x, y) to (x2, y2). */
export interface LabLine extends ShapeLook {
  readonly type: "line";
  readonly x: number;
  readonly y: number;
  readonly x2: number;
  readonly y2: number;
  /** The mark at (x, y). Absent: none. */
  readonly start?: LineEnd;
  /** The mark at (x2, y2). Absent: none. */
  readonly end?: LineEnd;
}

interface ShapeLook {
  /** Color of the line or the border, as toColor returns it. Absent: shapeDefaults.color. */
  readonly color?: string;
  /** Absent: solid. */
  readonly style?: LineStyle;
  /** Width of the line or the border, px. Absent: shapeDefaults.thickness. */
  readonly thickness?: number;
  /** A shape of a higher layer covers those of lower ones. Absent: 0. */
  readonly layer?: number;
}

export const shapeTypes = ["rectangle", "ellipse", "line"] as const;
export const lineStyles = ["solid", "dashed", "dotted"] as const;
export type LineStyle = (typeof lineStyles)[number];
export const lineEnds = ["arrow", "circle", "square"] as const;
export type LineEnd = (typeof lineEnds)[number];

export const shapeDefaults = { color: "#808080", style: "solid", thickness: 2, layer: 0 } as const;

export const shapeLimits = {
  /** Number of shapes in a lab. */
  shapes: 2000,
  place: { min: -1_000_000, max: 1_000_000 },
  size: { min: 1, max: 1_000_000 },
  thickness: { min: 0, max: 100 },
  rotation: { min: -360, max: 360 },
  layer: { min: -1000, max: 1000, integer: true },
} as const;

/** Returns the shape without settings that are the default. A rotation is at least 0 and less than 180 degrees: half a turn changes nothing. */
export function canonicalShape(shape: LabShape): LabShape {
  const { color, style, thickness, layer } = shape;
  const look = {
    ...(color !== undefined && color !== shapeDefaults.color && { color }),
    ...(style !== undefined && style !== shapeDefaults.style && { style }),
    ...(thickness !== undefined && thickness !== shapeDefaults.thickness && { thickness }),
    ...(layer !== undefined && layer !== shapeDefaults.layer && { layer }),
  };
  const [x, y] = [shape.x + 0, shape.y + 0];
  if (shape.type === "line") {
    const { start, end } = shape;
    const marks = { ...(start !== undefined && { start }), ...(end !== undefined && { end }) };
    return { type: "line", x, y, x2: shape.x2 + 0, y2: shape.y2 + 0, ...look, ...marks };
  }
  const { type, width, height, fill } = shape;
  const rotation = halfTurn(shape.rotation ?? 0);
  return {
    type,
    x,
    y,
    width,
    height,
    ...look,
    ...(fill !== undefined && !isInvisible(fill) && { fill }),
    ...(rotation !== 0 && { rotation }),
  };
}

function halfTurn(degrees: number): number {
  return ((degrees % 180) + 180) % 180;
}

/** Compares in the order of drawing: lower layers first, and in a layer the larger shapes, so that a small one in a large one stays visible. */
export function byLayer(a: LabShape, b: LabShape): number {
  const [one, other] = [areaOf(a), areaOf(b)];
  return (a.layer ?? 0) - (b.layer ?? 0) || other - one || a.y - b.y || a.x - b.x || compareTexts(JSON.stringify(a), JSON.stringify(b));
}

/** The upright rectangle of a shape, before its rotation. */
export interface ShapeBox {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export function boxOf(shape: LabShape): ShapeBox {
  if (shape.type !== "line") return { x: shape.x, y: shape.y, width: shape.width, height: shape.height };
  const { x, y, x2, y2 } = shape;
  return { x: Math.min(x, x2), y: Math.min(y, y2), width: Math.abs(x2 - x), height: Math.abs(y2 - y) };
}

/** Returns the upright rectangle around a shape as it is drawn. */
export function boundsOf(shape: LabShape): ShapeBox {
  const box = boxOf(shape);
  const rotation = shape.type === "line" ? 0 : (shape.rotation ?? 0);
  if (rotation === 0) return box;
  const [sine, cosine] = [Math.abs(Math.sin(radians(rotation))), Math.abs(Math.cos(radians(rotation)))];
  const [width, height] = [box.width * cosine + box.height * sine, box.width * sine + box.height * cosine];
  return { x: box.x + (box.width - width) / 2, y: box.y + (box.height - height) / 2, width, height };
}

/** Returns the shape turned clockwise around a point, by degrees. A box that is turned by right angles is upright again. */
export function turnedShape(shape: LabShape, degrees: number, around: { readonly x: number; readonly y: number }): LabShape {
  if (degrees % 360 === 0) return shape;
  const [sine, cosine] = [Math.sin(radians(degrees)), Math.cos(radians(degrees))];
  const turn = (x: number, y: number) => {
    const [dx, dy] = [x - around.x, y - around.y];
    return { x: around.x + dx * cosine - dy * sine, y: around.y + dx * sine + dy * cosine };
  };
  if (shape.type === "line") {
    const [from, to] = [turn(shape.x, shape.y), turn(shape.x2, shape.y2)];
    return { ...shape, ...from, x2: to.x, y2: to.y };
  }
  const middle = turn(shape.x + shape.width / 2, shape.y + shape.height / 2);
  const rotation = halfTurn((shape.rotation ?? 0) + degrees);
  const { rotation: _before, ...upright } = shape;
  const [width, height] = rotation === 90 ? [shape.height, shape.width] : [shape.width, shape.height];
  const turned = { ...upright, x: middle.x - width / 2, y: middle.y - height / 2, width, height };
  return rotation % 90 === 0 ? turned : { ...turned, rotation };
}

function radians(degrees: number): number {
  return (degrees / 180) * Math.PI;
}

/** Returns the outlines of the marks at the ends of a line, as path data of SVG whose origin is (x, y) of the line. They are filled with its colour. */
export function lineEndPaths({ x, y, x2, y2, start, end, thickness = shapeDefaults.thickness }: LabLine): readonly string[] {
  const [dx, dy] = [x2 - x, y2 - y];
  const length = Math.hypot(dx, dy);
  if (length === 0 || thickness === 0) return [];
  const [ux, uy] = [dx / length, dy / length];
  const path = (mark: LineEnd | undefined, px: number, py: number, vx: number, vy: number): readonly string[] =>
    mark === undefined
      ? []
      : [
          markPath(
            mark,
            thickness,
            (along, across) => `${rounded(px + vx * along - vy * across)} ${rounded(py + vy * along + vx * across)}`,
          ),
        ];
  return [...path(start, 0, 0, -ux, -uy), ...path(end, dx, dy, ux, uy)];
}

/** @param at a point, by its distance along the line beyond its end and its distance across */
function markPath(mark: LineEnd, thickness: number, at: (along: number, across: number) => string): string {
  const size = Math.max(10, 4 * thickness);
  if (mark === "arrow") return `M${at(1.1 * thickness, 0)}L${at(-size, size * 0.45)}L${at(-size, -size * 0.45)}Z`;
  const half = size * 0.4;
  if (mark === "square") return `M${at(half, half)}L${at(half, -half)}L${at(-half, -half)}L${at(-half, half)}Z`;
  const arc = `A${rounded(half)} ${rounded(half)} 0 0 0 `;
  return `M${at(half, 0)}${arc}${at(-half, 0)}${arc}${at(half, 0)}Z`;
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100 + 0;
}

/** Returns the lengths of dashes and gaps, px; undefined for a solid line. */
export function dashesOf({ style, thickness = shapeDefaults.thickness }: LabShape): readonly number[] | undefined {
  if (style === "dashed") return [Math.max(4, thickness * 4), Math.max(3, thickness * 3)];
  return style === "dotted" ? [Math.max(1, thickness), Math.max(2, thickness * 2)] : undefined;
}

/** Returns the style of a line with these dashes and gaps of SVG. Short ones are dots. */
export function styleOfDashes(dashes: string | undefined, thickness: number): LineStyle {
  const lengths = (dashes ?? "")
    .split(/[\s,]+/)
    .flatMap((word) => (/^\d{1,6}(?:\.\d{1,6})?(?:px)?$/.test(word) ? [Number.parseFloat(word)] : []));
  if (!lengths.some((length) => length > 0)) return "solid";
  const [dash = 0, gap = dash] = lengths;
  return dash <= Math.max(3, thickness) || dash <= gap / 2 ? "dotted" : "dashed";
}

function areaOf(shape: LabShape): number {
  const { width, height } = boxOf(shape);
  return shape.type === "line" ? 0 : width * height;
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
