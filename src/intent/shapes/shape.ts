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
}

/** A line from (x, y) to (x2, y2). */
export interface LabLine extends ShapeLook {
  readonly type: "line";
  readonly x: number;
  readonly y: number;
  readonly x2: number;
  readonly y2: number;
}

interface ShapeLook {
  /** Of the line or the border, as toColor returns it. Absent: shapeDefaults.color. */
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

export const shapeDefaults = { color: "#808080", style: "solid", thickness: 2, layer: 0 } as const;

export const shapeLimits = {
  /** Number of shapes in a lab. */
  shapes: 2000,
  place: { min: -1_000_000, max: 1_000_000 },
  size: { min: 1, max: 1_000_000 },
  thickness: { min: 0, max: 100 },
  layer: { min: -1000, max: 1000, integer: true },
} as const;

/** Returns the shape without settings that are the default. */
export function canonicalShape(shape: LabShape): LabShape {
  const { color, style, thickness, layer } = shape;
  const look = {
    ...(color !== undefined && color !== shapeDefaults.color && { color }),
    ...(style !== undefined && style !== shapeDefaults.style && { style }),
    ...(thickness !== undefined && thickness !== shapeDefaults.thickness && { thickness }),
    ...(layer !== undefined && layer !== shapeDefaults.layer && { layer }),
  };
  const [x, y] = [shape.x + 0, shape.y + 0];
  if (shape.type === "line") return { type: "line", x, y, x2: shape.x2 + 0, y2: shape.y2 + 0, ...look };
  const { type, width, height, fill } = shape;
  return { type, x, y, width, height, ...look, ...(fill !== undefined && !isInvisible(fill) && { fill }) };
}

/** Compares in the order of drawing: lower layers first, and in a layer the larger shapes, so that a small one in a large one stays visible. */
export function byLayer(a: LabShape, b: LabShape): number {
  const [one, other] = [areaOf(a), areaOf(b)];
  return (a.layer ?? 0) - (b.layer ?? 0) || other - one || a.y - b.y || a.x - b.x || compareTexts(JSON.stringify(a), JSON.stringify(b));
}

/** The rectangle around a shape. */
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
