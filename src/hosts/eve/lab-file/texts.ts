import { placedShape } from "../../../formats/unl/placed-shape.ts";
import { placedText, placeOf } from "../../../formats/unl/placed-text.ts";
import type { LabText } from "../../../intent/lab/lab.ts";
import { shapeInBlock } from "../../../intent/shapes/drawn-shape.ts";
import type { LabShape } from "../../../intent/shapes/shape.ts";
import type { UnlTextObject } from "./unl.ts";

/**
 * Parses a text object of EVE-NG: HTML in base64, positioned by its style. Users may draw any HTML: only the words and the position are read. Returns
 * `undefined` for a shape, or for an object without position or words.
 */
export function readText({ type, data }: UnlTextObject): LabText | undefined {
  if (type !== "text" || data === undefined) return undefined;
  return placedText(Buffer.from(data, "base64").toString("utf8"));
}

/** Parses a shape object of EVE-NG. Returns `undefined` for a text, and for a drawing that is neither a rectangle, an ellipse nor a line. */
export function readShape({ type, data }: UnlTextObject): LabShape | undefined {
  if (type === "text" || data === undefined) return undefined;
  const placed = placedShape(Buffer.from(data, "base64").toString("utf8"));
  return placed && shapeInBlock(placed.shape, placed);
}

export function writeText(id: number, { text, x, y }: LabText): UnlTextObject {
  const style = `display:inline; position:absolute; left: ${x}px; top: ${y}px; z-index: 1001;`;
  const words = escaped(text);
  const html =
    `<div id="customText${id}" class="customShape customText" data-path="${id}" style="${style}">` +
    `<p style="color:#000; font-size:20px; background-color:#fff;">${words}</p></div>`;
  return { id, name: `text ${id}`, type: "text", data: Buffer.from(html, "utf8").toString("base64") };
}

/**
 * Returns the text with other words or at another position. Its id and its look stay. New words get the look of the old words' beginning. If they
 * could not be read back, the text is written as a new one.
 */
export function editText(object: UnlTextObject, wanted: LabText): UnlTextObject {
  const html = Buffer.from(object.data ?? "", "base64").toString("utf8");
  const placed = html.replace(/<div\b[^>]*>/i, (opening) => moved(moved(opening, "left", wanted.x), "top", wanted.y));
  const data = readText(object)?.text === wanted.text ? placed : reworded(placed, wanted.text);
  const edited = { ...object, data: Buffer.from(data, "utf8").toString("base64") };
  const read = readText(edited);
  if (read !== undefined && textKey(read) === textKey(wanted)) return edited;
  return { ...object, data: writeText(object.id ?? 0, wanted).data ?? "" };
}

function moved(tag: string, side: "left" | "top", to: number): string {
  return tag.replace(placeOf(side), (found, number: string) => found.replace(`${number}px`, `${to}px`));
}

/** The tags before the first word, the new words, and the closing tags. */
function reworded(html: string, text: string): string {
  const opening = /^(?:\s*<[a-z][^>]*>)+/i.exec(html)?.[0] ?? "";
  const tags = [...opening.matchAll(/<([a-z][a-z0-9]*)\b[^>]*>/gi)].flatMap(([, tag = ""]) => (/^(?:br|hr|img)$/i.test(tag) ? [] : tag));
  return (
    opening +
    escaped(text) +
    tags
      .reverse()
      .map((tag) => `</${tag}>`)
      .join("")
  );
}

/** Returns a key that is equal for texts with the same words and position. */
export function textKey({ text, x, y }: LabText): string {
  return JSON.stringify([text, x, y]);
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("\r", "&#13;").replaceAll("\n", "<br>");
}
