/**
 * Characters that move the cursor, clear the screen or reverse the text: controls other than tab and line feed, 8-bit ones too, separators of lines, and
 * marks of direction.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
const unsafe = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** The same, except the sequences that a terminal's paint() writes. */
const unsafeUnpainted = new RegExp(`(?!\\u001b\\[(?:1|2|22|31|32|33|39)m)${unsafe.source}`, "g");

/**
 * The text as a terminal may show it: unsafe characters are written as \u001b. Names, messages and output come from hosts, nodes and other users. JSON keeps
 * its meaning.
 * @param painted whether the text may hold the colours of paint()
 */
export function visible(text: string, painted = false): string {
  return text.replaceAll("\r\n", "\n").replace(painted ? unsafeUnpainted : unsafe, escaped);
}

/** A cell of a table: in one line. */
export function visibleCell(text: string): string {
  return text.replace(/[\t\n\r]/g, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
