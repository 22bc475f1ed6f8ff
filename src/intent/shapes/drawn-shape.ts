import { cssColor } from "./color.ts";
import {
  boxOf,
  canonicalShape,
  type LabShape,
  type LineEnd,
  lineEnds,
  shapeDefaults,
  shapeLimits,
  styleOfDashes,
  turnedShape,
} from "./shape.ts";

/** A shape element of SVG: rect, ellipse, circle or line, with its attributes as texts. */
export interface DrawnElement {
  readonly element: "rect" | "ellipse" | "circle" | "line";
  readonly attributes: Readonly<Record<string, string>>;
}

/** Returns the shape of an element of SVG; undefined for one without a size. @param at of the drawing that contains it */
export function shapeOfElement(
  { element, attributes }: DrawnElement,
  at: { readonly x: number; readonly y: number },
  layer = 0,
): LabShape | undefined {
  const number = (name: string, otherwise = Number.NaN) => numberOf(attributes[name]) ?? otherwise;
  const line = strokeOf(attributes, layer);
  if (element === "line") {
    const [x1, y1, x2, y2] = ["x1", "y1", "x2", "y2"].map((name) => number(name, 0)) as [number, number, number, number];
    const [start, end] = [endOf(attributes, "start"), endOf(attributes, "end")];
    const marks = { ...(start !== undefined && { start }), ...(end !== undefined && { end }) };
    return validShape({ type: "line", x: at.x + x1, y: at.y + y1, x2: at.x + x2, y2: at.y + y2, ...line, ...marks });
  }
  const fill = fillOf(attributes);
  const look = { ...line, ...(fill !== undefined && { fill }) };
  if (element === "rect")
    return validShape({
      type: "rectangle",
      x: at.x + number("x", 0),
      y: at.y + number("y", 0),
      width: number("width"),
      height: number("height"),
      ...look,
    });
  const [rx, ry] = element === "circle" ? [number("r"), number("r")] : [number("rx"), number("ry")];
  const [cx, cy] = [number("cx", rx), number("cy", ry)];
  return validShape({ type: "ellipse", x: at.x + cx - rx, y: at.y + cy - ry, width: 2 * rx, height: 2 * ry, ...look });
}

/** A block of HTML with an element of SVG, turned around its middle. */
export interface DrawnBlock {
  readonly x: number;
  readonly y: number;
  readonly width: number | undefined;
  readonly height: number | undefined;
  readonly rotation: number;
  readonly layer: number;
}

/** Returns the shape of an element in a block; undefined for one without a size. */
export function shapeInBlock(element: DrawnElement, { x, y, width, height, rotation, layer }: DrawnBlock): LabShape | undefined {
  const upright = shapeOfElement(element, { x, y }, layer);
  if (upright === undefined || rotation === 0) return upright;
  const box = boxOf(upright);
  const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  const around = { x: width === undefined ? middle.x : x + width / 2, y: height === undefined ? middle.y : y + height / 2 };
  return validShape(turnedShape(upright, rotation, around));
}

/** Returns the shape within the limits of a lab, with whole numbers; undefined if a coordinate or a size is none. */
export function validShape(shape: LabShape): LabShape | undefined {
  const { place, size, thickness, layer } = shapeLimits;
  const look = {
    ...(shape.thickness !== undefined && { thickness: within(shape.thickness, thickness) }),
    ...(shape.layer !== undefined && { layer: Math.round(within(shape.layer, layer)) }),
  };
  const places = shape.type === "line" ? [shape.x, shape.y, shape.x2, shape.y2] : [shape.x, shape.y, shape.width, shape.height];
  if (!places.every(Number.isFinite)) return undefined;
  const [x, y] = [Math.round(within(shape.x, place)), Math.round(within(shape.y, place))];
  if (shape.type === "line") {
    const [x2, y2] = [Math.round(within(shape.x2, place)), Math.round(within(shape.y2, place))];
    return canonicalShape({ ...shape, ...look, x, y, x2, y2 });
  }
  if (shape.width <= 0 || shape.height <= 0) return undefined;
  const [width, height] = [Math.round(within(shape.width, size)), Math.round(within(shape.height, size))];
  const { rotation: degrees, ...upright } = shape;
  const rotation = degrees === undefined || !Number.isFinite(degrees) ? 0 : Math.round(degrees % 360);
  return canonicalShape({ ...upright, ...look, x, y, width: Math.max(1, width), height: Math.max(1, height), rotation });
}

/** SVG has markers of any form, which become arrows; exports name theirs. */
function endOf(attributes: Readonly<Record<string, string>>, side: "start" | "end"): LineEnd | undefined {
  const named = attributes[`data-${side}`];
  const marker = attributes[`marker-${side}`] ?? "none";
  return lineEnds.find((one) => one === named) ?? (marker === "none" ? undefined : "arrow");
}

/** Without a stroke, a shape of SVG has no border. */
function strokeOf(attributes: Readonly<Record<string, string>>, layer: number) {
  const stroke = attributes["stroke"];
  const thickness = stroke === undefined || stroke === "none" ? 0 : (numberOf(attributes["stroke-width"]) ?? 1);
  const color = stroke === undefined ? undefined : cssColor(stroke, numberOf(attributes["stroke-opacity"]) ?? 1);
  const style = styleOfDashes(attributes["stroke-dasharray"], thickness);
  return {
    ...(color !== undefined && { color }),
    ...(style !== shapeDefaults.style && { style }),
    thickness: within(thickness, shapeLimits.thickness),
    layer,
  };
}

function fillOf(attributes: Readonly<Record<string, string>>): string | undefined {
  const fill = attributes["fill"];
  return fill === undefined ? undefined : cssColor(fill, numberOf(attributes["fill-opacity"]) ?? 1);
}

/** Returns the number of an attribute, which may have the unit px. */
export function numberOf(text: string | undefined): number | undefined {
  const number = /^\s*([+-]?\d{1,9}(?:\.\d{1,12})?(?:e[+-]?\d{1,2})?)\s*(?:px)?\s*$/i.exec(text ?? "")?.[1];
  return number === undefined ? undefined : Number(number);
}

function within(value: number, { min, max }: { readonly min: number; readonly max: number }): number {
  return Math.min(max, Math.max(min, value));
}
