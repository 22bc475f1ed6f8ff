/**
 * Characters that move the cursor, clear the screen or reverse the text: control characters (7-bit and 8-bit) other than tab and line feed, line separators
 * and direction marks.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
const unsafe = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** The same characters, except the sequences of a terminal's paint(). */
const unsafeUnpainted = new RegExp(`(?!\\u001b\\[(?:1|2|22|31|32|33|39)m)${unsafe.source}`, "g");

/**
 * Escapes unsafe characters of a text, such as \u001b. Names, messages and output come from hosts, nodes and other users. The escapes do not change the
 * value of JSON.
 * @param painted whether the text may contain the colours of paint()
 */
export function visible(text: string, painted = false): string {
  return text.replaceAll("\r\n", "\n").replace(painted ? unsafeUnpainted : unsafe, escaped);
}

/** Escapes line ends in a table cell. */
export function visibleCell(text: string): string {
  return text.replace(/[\t\n\r]/g, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
