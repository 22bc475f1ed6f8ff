/**
 * Describes the first control character of a text, except tab and line end: no program of the machine accepts such a text. Returns `undefined` if
 * there is none.
 */
export function controlCharacter(text: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this searches for control characters
  const found = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/.exec(text);
  if (found === null) return undefined;
  const code = found[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
  return `it has the control character U+${code} at position ${found.index + 1}: remove it`;
}
