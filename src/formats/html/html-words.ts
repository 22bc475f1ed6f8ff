import { htmlEntities } from "./html-entities.ts";

/** Returns the words of a piece of HTML: without tags, entities resolved, `<br>` as a line break. */
export function htmlWords(html: string): string {
  return html
    .replace(/<br\s*\/?>/gi, "\n")
    .replace(/<[^>]*>/g, "")
    .replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(\w+));/gi, (whole, decimal: string, hex: string, name: string) => {
      const code = decimal !== undefined ? Number(decimal) : hex !== undefined ? Number.parseInt(hex, 16) : undefined;
      if (code !== undefined) return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
      return name === "apos" ? "'" : (htmlEntities.get(name) ?? whole);
    });
}
