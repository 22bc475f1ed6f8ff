import { htmlWords } from "../html/html-words.ts";

/** A text at a place of a drawing. */
export interface PlacedText {
  readonly text: string;
  readonly x: number;
  readonly y: number;
}

/**
 * Returns the words of a text object of EVE-NG: HTML that its style places. Users may draw any HTML: only the words and the position are read. Returns `undefined` for an
 * object without position or words.
 */
export function placedText(html: string): PlacedText | undefined {
  const opening = /<div\b[^>]*>/i.exec(html)?.[0] ?? "";
  const x = place(opening, "left");
  const y = place(opening, "top");
  if (x === undefined || y === undefined) return undefined;
  const ours = /^<div\b[^>]*><p\b[^>]*>([\s\S]*)<\/p><\/div>$/i.exec(html)?.[1];
  const text =
    ours !== undefined && !/<(?!br>)/i.test(ours) ? htmlWords(ours) : htmlWords(html.replace(/<\/(p|div|h\d|li)>(?=.)/gis, "<br>")).trim();
  return text === "" ? undefined : { text, x, y };
}

function place(tag: string, side: "left" | "top"): number | undefined {
  const value = placeOf(side).exec(tag)?.[1];
  const number = Number(value ?? Number.NaN);
  return Number.isFinite(number) ? number : undefined;
}

/** Returns the pattern of a position in a style. */
export function placeOf(side: "left" | "top"): RegExp {
  return new RegExp(`[;"'\\s]${side}\\s*:\\s*(-?[\\d.]+(?:e[+-]?\\d+)?)px`, "i");
}
