const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Returns the base64 of a text in UTF-8. This layer has neither Node's Buffer nor a browser's btoa. */
export function base64(text: string): string {
  const bytes = utf8(text);
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += 3) {
    const [a = 0, b, c] = bytes.slice(at, at + 3);
    const bits = (a << 16) | ((b ?? 0) << 8) | (c ?? 0);
    const letters = [18, 12, 6, 0].map((shift) => alphabet[(bits >> shift) & 63] ?? "");
    parts.push(letters[0] ?? "", letters[1] ?? "", b === undefined ? "=" : (letters[2] ?? ""), c === undefined ? "=" : (letters[3] ?? ""));
  }
  return parts.join("");
}

function utf8(text: string): readonly number[] {
  const bytes: number[] = [];
  for (const character of text.replaceAll(/\p{Cs}/gu, "\ufffd")) {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x80) bytes.push(code);
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 63));
    else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
    else bytes.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
  }
  return bytes;
}
