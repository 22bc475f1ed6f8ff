/**
 * Colours of the drawing. Only these notations get into pages and files, so that no text of a lab can add a style or an element to them.
 */

/** Names of CSS that labs and files of other tools use. */
const names: Readonly<Record<string, string>> = {
  aqua: "00ffff",
  beige: "f5f5dc",
  black: "000000",
  blue: "0000ff",
  brown: "a52a2a",
  coral: "ff7f50",
  crimson: "dc143c",
  cyan: "00ffff",
  darkblue: "00008b",
  darkgray: "a9a9a9",
  darkgreen: "006400",
  darkgrey: "a9a9a9",
  darkorange: "ff8c00",
  darkred: "8b0000",
  fuchsia: "ff00ff",
  gold: "ffd700",
  gray: "808080",
  green: "008000",
  grey: "808080",
  indigo: "4b0082",
  khaki: "f0e68c",
  lavender: "e6e6fa",
  lightblue: "add8e6",
  lightgray: "d3d3d3",
  lightgreen: "90ee90",
  lightgrey: "d3d3d3",
  lightyellow: "ffffe0",
  lime: "00ff00",
  magenta: "ff00ff",
  maroon: "800000",
  navy: "000080",
  olive: "808000",
  orange: "ffa500",
  orchid: "da70d6",
  pink: "ffc0cb",
  plum: "dda0dd",
  purple: "800080",
  red: "ff0000",
  salmon: "fa8072",
  silver: "c0c0c0",
  skyblue: "87ceeb",
  steelblue: "4682b4",
  tan: "d2b48c",
  teal: "008080",
  tomato: "ff6347",
  turquoise: "40e0d0",
  violet: "ee82ee",
  wheat: "f5deb3",
  white: "ffffff",
  yellow: "ffff00",
};

/** Returns a colour as #rrggbb, or #rrggbbaa if it is not opaque; undefined for any text that is neither #rgb, #rrggbb, #rrggbbaa nor a known name. */
export function toColor(text: string): string | undefined {
  const word = text.trim().toLowerCase();
  if (Object.hasOwn(names, word)) return `#${names[word]}`;
  const hex = /^#([0-9a-f]{3}|[0-9a-f]{4}|[0-9a-f]{6}|[0-9a-f]{8})$/.exec(word)?.[1];
  if (hex === undefined) return undefined;
  const long = hex.length < 6 ? hex.replace(/./g, "$&$&") : hex;
  return `#${long.length === 8 && long.endsWith("ff") ? long.slice(0, 6) : long}`;
}

/** Returns a colour of CSS or SVG, which may also be rgb() or rgba(). `opacity`: of the attribute beside it, 0 to 1. */
export function cssColor(text: string, opacity = 1): string | undefined {
  const parts = /^rgba?\(\s*(\d{1,3})\s*[,\s]\s*(\d{1,3})\s*[,\s]\s*(\d{1,3})\s*(?:[,/]\s*(\d{0,3}(?:\.\d{1,9})?)\s*)?\)$/i.exec(
    text.trim(),
  );
  if (parts === null) return faded(toColor(text), opacity);
  const [red, green, blue] = parts.slice(1, 4).map((part) => Math.min(255, Number(part)));
  const alpha = parts[4] === undefined || parts[4] === "" ? 1 : Number(parts[4]);
  return faded(`#${[red, green, blue].map((one = 0) => twoDigits(one)).join("")}`, alpha * opacity);
}

/** Returns the colour and the opacity of a colour, from 0 to 1. */
export function opacityOf(color: string): { readonly color: string; readonly opacity: number } {
  return {
    color: color.slice(0, 7),
    opacity: color.length > 7 ? Math.round((Number.parseInt(color.slice(7), 16) / 255) * 1000) / 1000 : 1,
  };
}

/** Returns whether nothing of the colour is visible. */
export function isInvisible(color: string): boolean {
  return color.length > 7 && color.endsWith("00");
}

function faded(color: string | undefined, opacity: number): string | undefined {
  if (color === undefined) return undefined;
  const alpha = Math.min(1, Math.max(0, Number.isFinite(opacity) ? opacity : 1)) * opacityOf(color).opacity;
  return alpha >= 1 ? color.slice(0, 7) : `${color.slice(0, 7)}${twoDigits(Math.round(alpha * 255))}`;
}

function twoDigits(value: number): string {
  return value.toString(16).padStart(2, "0");
}
