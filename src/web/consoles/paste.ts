export interface Paste {
  /** What would be typed: without control characters other than tabs and line ends, so that a text cannot press keys of its own. */
  readonly text: string;
  /** Each line end runs what stands before it. */
  readonly lines: number;
}

/** What of the clipboard's text would be typed, and how many lines it has. */
export function pasteOf(clipboard: string): Paste {
  const text = [...clipboard]
    .filter((character) => {
      const code = character.codePointAt(0)!;
      return code === 9 || code === 10 || code === 13 || (code >= 32 && (code < 127 || code > 159));
    })
    .join("");
  return { text, lines: text.replace(/(?:\r\n|\r|\n)+$/, "").split(/\r\n|\r|\n/).length };
}
