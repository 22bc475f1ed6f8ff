import type { Draft } from "../../draft/draft.ts";
import type { Part } from "../../tree/part.ts";

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'", nbsp: " " };

/** A drawing is an SVG. Its texts are texts here; shapes and pictures have no counterpart. */
export function readDrawing(draft: Draft, drawing: Part): void {
  const svg = drawing.get("svg");
  const texts = textsOf(svg?.text ?? "");
  for (const key of ["drawing_id", "z", "rotation", "locked"]) drawing.get(key)?.dropped("a setting of the drawing program");
  if (svg === undefined || texts.length === 0) {
    drawing.dropped("a shape or a picture: labs have texts only");
    return;
  }
  const [x, y] = [drawing.get("x"), drawing.get("y")];
  draft.text(texts.join("\n"), x?.number ?? 0, y?.number ?? 0);
  svg.mapped("the text alone");
  x?.kept();
  y?.kept();
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
