/** Node and browsers have it; the library of the language does not. */
declare const TextDecoder: new (encoding: string, options: { readonly fatal: boolean }) => { decode(bytes: Uint8Array): string };

/** Returns the text of bytes in UTF-8, or in UTF-16 with a byte order mark; undefined: they are no text. */
export function textOf(bytes: Uint8Array): string | undefined {
  const encoding = bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : "utf-8";
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}
