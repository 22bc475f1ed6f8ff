/** Node and browsers have it; the library of the language does not. */
declare const TextDecoder: new (encoding: string, options: { readonly fatal: boolean }) => { decode(bytes: Uint8Array): string };

/**
 * Returns the text of bytes in UTF-8, in UTF-16 with a byte order mark, or in Windows-1252, which older programs of Windows write; undefined: they are not text.
 */
export function textOf(bytes: Uint8Array): string | undefined {
  const encoding = bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : "utf-8";
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
    return text.includes("\0") ? undefined : text;
  } catch {
    // Bytes that are not text nearly always have control characters.
    return bytes.some(isControl) ? undefined : new TextDecoder("windows-1252", { fatal: false }).decode(bytes);
  }
}

/** Whether no text has this byte: the control characters except tab, the line ends, and form feed. */
function isControl(byte: number): boolean {
  return byte < 0x20 ? byte !== 9 && byte !== 10 && byte !== 12 && byte !== 13 : byte === 0x7f;
}
