import { opacityOf } from "../../intent/shapes/color.ts";
import { boundsOf, dashesOf, type LabShape, lineEndPaths, shapeDefaults } from "../../intent/shapes/shape.ts";

/** Returns the element of SVG of a shape, and the marks at the ends of a line. @param at position of the drawing that contains it */
export function svgShape(shape: LabShape, at: { readonly x: number; readonly y: number }): string {
  const [x, y] = [shape.x - at.x, shape.y - at.y];
  if (shape.type === "line") {
    const marks = (["start", "end"] as const).flatMap((side) => (shape[side] === undefined ? [] : [` data-${side}="${shape[side]}"`]));
    const { color, opacity } = opacityOf(shape.color ?? shapeDefaults.color);
    const paths = lineEndPaths(shape).map(
      (path) => `<path transform="translate(${x} ${y})" d="${path}" fill="${color}"${faded("fill-opacity", opacity)}/>`,
    );
    return `${svgElement(shape, at).replace(/\/>$/, `${marks.join("")}/>`)}${paths.join("")}`;
  }
  const { width, height, rotation } = shape;
  if (rotation === undefined) return svgElement(shape, at);
  return svgElement(shape, at).replace(/\/>$/, ` transform="rotate(${rotation} ${x + width / 2} ${y + height / 2})"/>`);
}

/** Returns the element of SVG of a shape, upright and without marks. @param at position of the drawing that contains it */
export function svgElement(shape: LabShape, at: { readonly x: number; readonly y: number }): string {
  const [x, y] = [shape.x - at.x, shape.y - at.y];
  if (shape.type === "line") return `<line x1="${x}" y1="${y}" x2="${shape.x2 - at.x}" y2="${shape.y2 - at.y}"${lookOf(shape)}/>`;
  const { width, height } = shape;
  if (shape.type === "rectangle") {
    const place = x === 0 && y === 0 ? "" : `x="${x}" y="${y}" `;
    return `<rect ${place}width="${width}" height="${height}"${lookOf(shape)}/>`;
  }
  return `<ellipse cx="${x + width / 2}" cy="${y + height / 2}" rx="${width / 2}" ry="${height / 2}"${lookOf(shape)}/>`;
}

function lookOf(shape: LabShape): string {
  const { color, opacity } = opacityOf(shape.color ?? shapeDefaults.color);
  const thickness = shape.thickness ?? shapeDefaults.thickness;
  const dashes = dashesOf(shape)?.join(",");
  const border =
    thickness === 0
      ? ""
      : ` stroke="${color}"${faded("stroke-opacity", opacity)} stroke-width="${thickness}"${dashes === undefined ? "" : ` stroke-dasharray="${dashes}"`}`;
  const fill = shape.type === "line" || shape.fill === undefined ? undefined : opacityOf(shape.fill);
  return `${border}${fill === undefined ? ' fill="none"' : ` fill="${fill.color}"${faded("fill-opacity", fill.opacity)}`}`;
}

function faded(name: string, opacity: number): string {
  return opacity === 1 ? "" : ` ${name}="${opacity}"`;
}

/** Returns the shapes with layers of at most 0, in the same order: other tools draw nodes above these. */
export function behindNodes(shapes: readonly LabShape[]): readonly LabShape[] {
  const highest = Math.max(0, ...shapes.map(({ layer = 0 }) => layer));
  return highest === 0 ? shapes : shapes.map((shape) => ({ ...shape, layer: (shape.layer ?? 0) - highest }));
}

/** Returns the corners of the shapes. */
export function cornersOf(shapes: readonly LabShape[]): readonly { readonly x: number; readonly y: number }[] {
  return shapes.map(boundsOf).flatMap(({ x, y, width, height }) => [
    { x, y },
    { x: x + width, y: y + height },
  ]);
}
