import { attributesIn, type SvgShape, svgShapes } from "../svg/svg-shapes.ts";

/** A shape of a drawing of EVE-NG: an element of SVG in a block that its style places. */
export interface PlacedShape {
  readonly shape: SvgShape;
  readonly x: number;
  readonly y: number;
  /** Below that of other shapes: behind them. */
  readonly layer: number;
}

/** The layer of new shapes in EVE-NG. */
export const usualZ = 999;

/** Returns the first shape of a text object of EVE-NG. Users may draw any HTML: only the first rect, ellipse, circle or line in its SVG is read. */
export function placedShape(html: string): PlacedShape | undefined {
  const block = attributesIn(html, "div") ?? {};
  const [x, y] = [pixels(block["left"]), pixels(block["top"])];
  const [shape] = svgShapes(html);
  if (x === undefined || y === undefined || shape === undefined) return undefined;
  return { shape, x, y, layer: (pixels(block["z-index"]) ?? usualZ) - usualZ };
}

function pixels(text: string | undefined): number | undefined {
  const number = /^(-?\d{1,9}(?:\.\d{1,12})?)(?:px)?$/.exec(text?.trim() ?? "")?.[1];
  return number === undefined ? undefined : Number(number);
}
