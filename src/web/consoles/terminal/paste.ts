export interface Paste {
  /** The text without control characters except tabs and line ends, so that it cannot press keys. */
  readonly text: string;
  /** Number of lines: in a shell each line end runs a command. */
  readonly lines: number;
}

/** Prepares the clipboard's text for a paste into a terminal. */
export function pasteOf(clipboard: string): Paste {
  const text = [...clipboard]
    .filter((character) => {
      const code = character.codePointAt(0)!;
      return code === 9 || code === 10 || code === 13 || (code >= 32 && (code < 127 || code > 159));
    })
    .join("");
  return { text, lines: text.replace(/(?:\r\n|\r|\n)+$/, "").split(/\r\n|\r|\n/).length };
}
