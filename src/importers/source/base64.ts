import { textOf } from "./text-decoder.ts";

/** Node and browsers have it; the library of the language does not. */
declare const atob: (text: string) => string;

/** Returns the bytes of base64; undefined: it is none. Blanks and line breaks are ignored. */
export function base64Bytes(text: string): Uint8Array | undefined {
  const digits = text.replace(/[\s=]+/g, "");
  if (!/^[A-Za-z0-9+/]*$/.test(digits) || digits.length % 4 === 1) return undefined;
  return Uint8Array.from(atob(digits), (character) => character.charCodeAt(0));
}

/** Returns the text in base64. Bytes that are not UTF-8 are read as Latin-1, so that nothing of a configuration is lost. */
export function base64Text(text: string): string | undefined {
  const bytes = base64Bytes(text);
  if (bytes === undefined) return undefined;
  return textOf(bytes) ?? Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}
