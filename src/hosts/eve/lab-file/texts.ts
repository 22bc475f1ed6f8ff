import type { LabText } from "../../../intent/lab/lab.ts";
import { htmlEntities } from "./html-entities.ts";
import type { UnlTextObject } from "./unl.ts";

/**
 * Parses a text object of EVE-NG: HTML in base64, positioned by its style. Users may draw any HTML: only the words and the position are read. Returns
 * `undefined` for a shape, or for an object without position or words.
 */
export function readText({ type, data }: UnlTextObject): LabText | undefined {
  if (type !== "text" || data === undefined) return undefined;
  const html = Buffer.from(data, "base64").toString("utf8");
  const opening = /<div\b[^>]*>/i.exec(html)?.[0] ?? "";
  const x = place(opening, "left");
  const y = place(opening, "top");
  if (x === undefined || y === undefined) return undefined;
  const ours = /^<div\b[^>]*><p\b[^>]*>([\s\S]*)<\/p><\/div>$/i.exec(html)?.[1];
  const text =
    ours !== undefined && !/<(?!br>)/i.test(ours) ? words(ours) : words(html.replace(/<\/(p|div|h\d|li)>(?=.)/gis, "<br>")).trim();
  return text === "" ? undefined : { text, x, y };
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

/** Returns whether two texts have the same words and position. */
export function textKey({ text, x, y }: LabText): string {
  return JSON.stringify([text, x, y]);
}

function place(tag: string, side: "left" | "top"): number | undefined {
  const value = placeOf(side).exec(tag)?.[1];
  const number = Number(value ?? Number.NaN);
  return Number.isFinite(number) ? number : undefined;
}

function placeOf(side: "left" | "top"): RegExp {
  return new RegExp(`[;"'\\s]${side}\\s*:\\s*(-?[\\d.]+(?:e[+-]?\\d+)?)px`, "i");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("\r", "&#13;").replaceAll("\n", "<br>");
}

function words(html: string): string {
  return html
    .replace(/<br\s*\/?>/gi, "\n")
    .replace(/<[^>]*>/g, "")
    .replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(\w+));/gi, (whole, decimal: string, hex: string, name: string) => {
      const code = decimal !== undefined ? Number(decimal) : hex !== undefined ? Number.parseInt(hex, 16) : undefined;
      if (code !== undefined) return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
      return name === "apos" ? "'" : (htmlEntities.get(name) ?? whole);
    });
}
