import { TextFinder } from "../../base/text-finder.ts";
import { escapeAt } from "./terminal.ts";

const redacted = "********";

/** Maximum characters of all secrets of one dialogue together. */
export const maxSecretCharacters = 64 << 10;

/**
 * Returns the same pieces of one text with every secret replaced. Secrets are compared without blanks, control characters and escape sequences, so
 * that a secret that a terminal or line editor wrapped is found too. A secret that continues in the next piece is shown redacted in the piece of its
 * start. A secret of several lines counts as several secrets. A secret of blanks only is not found. Time is linear in the text, for any number of
 * secrets.
 */
export function redact(pieces: readonly string[], secrets: readonly string[]): string[] {
  const finder = new TextFinder(secrets.flatMap(shownForms));
  if (finder.empty) return [...pieces];
  const whole = pieces.join("");
  const solid = solidText(whole);
  const gaps = finder.find(solid.text).map(({ start, end }) => ({ start: solid.starts[start]!, end: solid.ends[end - 1]! }));
  const shown: string[] = [];
  let start = 0;
  let gap = 0;
  for (const { length } of pieces) {
    const end = start + length;
    let text = "";
    for (let at = start; at < end; ) {
      while (gap < gaps.length && gaps[gap]!.end <= at) gap += 1;
      const next = gaps[gap];
      if (next === undefined || next.start >= end) {
        text += whole.slice(at, end);
        break;
      }
      if (next.start >= at) text += whole.slice(at, next.start) + redacted;
      at = next.end;
    }
    shown.push(text);
    start = end;
  }
  return shown;
}

/** Returns how a terminal may echo each line: as it is, or with control characters as ^X. */
function shownForms(secret: string): string[] {
  return secret.split(/[\r\n]+/).flatMap((line) => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression matches control characters
    const caret = line.replace(/[\x00-\x1f\x7f]/g, (control) => `^${String.fromCharCode(control.charCodeAt(0) ^ 0x40)}`);
    return [solidText(line).text, solidText(caret).text].filter((form) => form !== "");
  });
}

interface SolidText {
  /** The text without blanks, control characters and escape sequences. */
  readonly text: string;
  /** The start and end of each of its characters in the raw text. */
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

function solidText(raw: string): SolidText {
  const starts = new Uint32Array(raw.length);
  const ends = new Uint32Array(raw.length);
  const runs: string[] = [];
  let count = 0;
  for (let at = 0; at < raw.length; ) {
    const begin = at;
    while (at < raw.length && isSolid(raw.charCodeAt(at))) {
      starts[count] = at++;
      ends[count++] = at;
    }
    if (at > begin) runs.push(raw.slice(begin, at));
    else if (raw[at] === "\x1b") at += escapeAt(raw, at).length;
    // Line editors wrap by printing the next line's first character, a return, and the same character again.
    else if (raw[at] === "\r" && isSolid(raw.charCodeAt(at + 1)) && raw[at + 1] === raw[at - 1]) {
      ends[count - 1] = at + 2;
      at += 2;
    } else at += 1;
  }
  return { text: runs.join(""), starts, ends };
}

function isSolid(code: number): boolean {
  return code > 0x20 && code !== 0x7f;
}
