import type { LabText } from "../../../intent/lab/lab.ts";
import { htmlEntities } from "./html-entities.ts";
import type { UnlTextObject } from "./unl.ts";

/**
 * A text of the lab as EVE-NG draws it: HTML in base64, placed by its style. What people draw there may be any HTML: of that the words and
 * the place are read. undefined: a shape, or a thing without place or words.
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

/** The same words at the same place. */
export function textKey({ text, x, y }: LabText): string {
  return JSON.stringify([text, x, y]);
}

function place(tag: string, side: "left" | "top"): number | undefined {
  const value = new RegExp(`[;"'\\s]${side}\\s*:\\s*(-?[\\d.]+(?:e[+-]?\\d+)?)px`, "i").exec(tag)?.[1];
  const number = Number(value ?? Number.NaN);
  return Number.isFinite(number) ? number : undefined;
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
