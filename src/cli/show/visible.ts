/**
 * Characters that move the cursor, clear the screen or reverse the text: control characters (7-bit and 8-bit) other than tab and line feed, line separators
 * and direction marks.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
const unsafe = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * Escapes unsafe characters of a text, such as \u001b. Names, messages and output come from hosts, nodes and other users. The escapes do not change the
 * value of JSON.
 */
export function visible(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(unsafe, escaped);
}

/** Escapes line ends in a table cell. */
export function visibleCell(text: string): string {
  return text.replace(/[\t\n\r]/g, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
