import { type SvgShape, svgShapes } from "../../../formats/svg/svg-shapes.ts";
import { shapeOfElement } from "../../../intent/shapes/drawn-shape.ts";
import { turnedShape } from "../../../intent/shapes/shape.ts";
import type { Draft } from "../../draft/draft.ts";
import type { Part } from "../../tree/part.ts";

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'", nbsp: " " };

/** A drawing is an SVG with a text, a rectangle, an ellipse, a line or a picture. Pictures have no counterpart. */
export function readDrawing(draft: Draft, drawing: Part): void {
  const svg = drawing.get("svg");
  const texts = textsOf(svg?.text ?? "");
  for (const key of ["drawing_id", "z", "rotation", "locked"]) drawing.get(key)?.dropped("a setting of the drawing program");
  const [x, y] = [drawing.get("x"), drawing.get("y")];
  const [element] = svgShapes(svg?.text ?? "");
  if (svg !== undefined && texts.length === 0 && element !== undefined) {
    readShape(draft, drawing, svg, element);
    return;
  }
  if (svg === undefined || texts.length === 0) {
    drawing.dropped("a picture: labs have texts and shapes only");
    return;
  }
  draft.text(texts.join("\n"), x?.number ?? 0, y?.number ?? 0);
  svg.mapped("the text alone");
  x?.kept();
  y?.kept();
}

/** Reads a rectangle or an ellipse of version 1.x. Colours are #AARRGGBB there. */
export function readOldShape(draft: Draft, part: Part, element: "rect" | "ellipse"): void {
  const [x, y, width, height, z] = ["x", "y", "width", "height", "z"].map((key) => part.get(key));
  const [w, h] = [width?.number ?? 0, height?.number ?? 0];
  const colour = (key: string) => {
    const [, alpha, rest] = /^#([0-9a-f]{2})?([0-9a-f]{6})$/i.exec(part.get(key)?.text ?? "") ?? [];
    return rest === undefined || alpha === "00" ? undefined : `#${rest}`;
  };
  const size = element === "rect" ? { width: w, height: h } : { rx: w / 2, ry: h / 2, cx: w / 2, cy: h / 2 };
  const attributes = {
    ...Object.fromEntries(Object.entries(size).map(([name, value]) => [name, String(value)])),
    fill: colour("color") ?? "none",
    stroke: colour("border_color") ?? "#000000",
    "stroke-width": part.get("border_width")?.text ?? "2",
  };
  const at = { x: x?.number ?? 0, y: y?.number ?? 0 };
  const upright = shapeOfElement({ element, attributes }, at, Math.min(0, z?.number ?? 0));
  const rotation = part.get("rotation");
  const problem = draft.shape(upright && turnedShape(upright, rotation?.number ?? 0, at));
  if (problem !== undefined) {
    part.dropped(problem);
    return;
  }
  for (const each of [x, y, width, height]) each?.kept();
  for (const key of ["color", "border_color", "border_width", "border_style"]) part.get(key)?.mapped("the look of the shape");
  z?.mapped("the layer of the shape");
  rotation?.mapped("the rotation of the shape");
}

function readShape(draft: Draft, drawing: Part, svg: Part, element: SvgShape): void {
  const [x, y, z, rotation] = ["x", "y", "z", "rotation"].map((key) => drawing.get(key));
  const angle = rotation?.number ?? 0;
  const corner = { x: x?.number ?? 0, y: y?.number ?? 0 };
  const upright = shapeOfElement(element, corner, Math.min(0, z?.number ?? 0));
  const problem = draft.shape(upright && turnedShape(upright, angle, corner));
  if (problem !== undefined) {
    drawing.dropped(problem);
    return;
  }
  svg.mapped("a shape, in shapes");
  for (const part of [x, y]) part?.kept();
  z?.mapped("the layer of the shape");
  rotation?.mapped(angle === 0 ? "upright" : "the rotation of the shape");
}

/** Returns the contents of the text elements, in one pass. */
export function textsOf(svg: string): readonly string[] {
  const texts: string[] = [];
  for (let at = svg.indexOf("<text"); at !== -1; at = svg.indexOf("<text", at)) {
    const start = svg.indexOf(">", at);
    const end = start === -1 ? -1 : svg.indexOf("</text>", start);
    if (end === -1) break;
    const inner = svg.slice(start + 1, end).replace(/<[^<>]*>/g, "");
    const text = decoded(inner).trim();
    if (text !== "") texts.push(text);
    at = end;
  }
  return texts;
}

export function decoded(text: string): string {
  return text.replace(/&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]{2,6});/gi, (whole, name: string) => {
    if (!name.startsWith("#")) return Object.hasOwn(entities, name) ? (entities[name] ?? whole) : whole;
    const code = name[1] === "x" || name[1] === "X" ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
