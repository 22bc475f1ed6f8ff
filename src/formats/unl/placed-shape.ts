import { attributesIn, type SvgShape, svgShapes } from "../svg/svg-shapes.ts";

/** A shape of a drawing of EVE-NG: an element of SVG in a block that its style places. */
export interface PlacedShape {
  readonly shape: SvgShape;
  readonly x: number;
  readonly y: number;
  /** Clockwise around the middle of the block, degrees. */
  readonly rotation: number;
  /** The size of the block; undefined: that of its contents. */
  readonly width: number | undefined;
  readonly height: number | undefined;
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
  const [width, height] = [pixels(block["width"]), pixels(block["height"])];
  return { shape, x, y, rotation: rotationOf(block["transform"]), width, height, layer: (pixels(block["z-index"]) ?? usualZ) - usualZ };
}

function rotationOf(transform = ""): number {
  const [, number = "0", unit] = /rotate\(\s*(-?\d{1,6}(?:\.\d{1,15})?)(deg|rad)\s*\)/i.exec(transform) ?? [];
  return unit?.toLowerCase() === "rad" ? Math.round((Number(number) / Math.PI) * 180) : Number(number);
}

function pixels(text: string | undefined): number | undefined {
  const number = /^(-?\d{1,9}(?:\.\d{1,12})?)(?:px)?$/.exec(text?.trim() ?? "")?.[1];
  return number === undefined ? undefined : Number(number);
}
