import { nearest } from "../../../intent/diagnostics/nearest.ts";

/** The place in a wrong line where FRR's grammar ends, and the words that can be there. */
export interface CommandHint {
  /** Index of the first word that no command has there; the number of words if the line is incomplete. */
  readonly word: number;
  readonly hint?: string;
}

/** Words that a hint lists at most. */
const maxListed = 6;
/** Commands that are compared with a line at most. */
const maxCommands = 10_000;

/**
 * Compares a wrong line with the commands that vtysh lists, such as `ip ospf cost (1-65535) [A.B.C.D]`. The hint has words of FRR's grammar only, never
 * of the line.
 */
export function commandHint(words: readonly string[], commands: Iterable<string>): CommandHint {
  let deepest = 0;
  let expected = new Set<string>();
  let looked = 0;
  const bare = new Map<number, string>();
  for (const command of commands) {
    if (++looked > maxCommands) break;
    const [depth, next] = matched(command.split(" "), words);
    const lacking = next.find((one) => lacksLength(words[depth] ?? "", one));
    if (lacking !== undefined) bare.set(depth, lacking);
    if (depth > deepest) [deepest, expected] = [depth, new Set()];
    if (depth === deepest) for (const one of next) expected.add(one);
  }
  const literals = [...expected].filter((one) => /^[a-z]/.test(one)).sort();
  const wrong = words[deepest];
  const meant = wrong === undefined ? undefined : nearest(wrong, literals);
  if (meant !== undefined) return { word: deepest, hint: `did you mean ${JSON.stringify(meant)}?` };
  // Another command can take the address without its length, such as `ip address A.B.C.D peer …`.
  for (const place of [deepest, deepest - 1]) {
    const prefix = bare.get(place);
    if (prefix !== undefined) return { word: place, hint: `expected here: ${prefix}, ${lengthHint(prefix, words[place + 1])}` };
  }
  const all = [...[...expected].filter((one) => !/^[a-z]/.test(one)).sort(), ...literals];
  if (deepest === 0 || all.length === 0) return { word: deepest };
  const more = all.length > maxListed ? " …" : "";
  return { word: deepest, hint: `expected here: ${all.slice(0, maxListed).join(", ")}${more}` };
}

/** Returns how many words the command has in common with the line, and the words that it has after them. */
function matched(parts: readonly string[], words: readonly string[]): readonly [number, readonly string[]] {
  let [part, word] = [0, 0];
  const skipped: string[] = [];
  while (part < parts.length) {
    const text = parts[part]!;
    const choices = choicesOf(text);
    const given = words[word];
    if (given !== undefined && choices.some((choice) => fits(given, choice))) {
      if (text.includes("...")) return [words.length, []];
      skipped.length = 0;
      word += 1;
      part += 1;
    } else if (text.startsWith("[") || text.startsWith("{")) {
      skipped.push(...choices);
      part += 1;
    } else return [word, [...skipped, ...choices]];
  }
  return [word, skipped];
}

/** Returns the words that one part of a command stands for: `<a|b>` is a or b. */
function choicesOf(part: string): readonly string[] {
  return part
    .replace(/[[\]<>{}]/g, "")
    .split("|")
    .filter((choice) => choice !== "");
}

function fits(word: string, choice: string): boolean {
  if (/^[a-z]/.test(choice)) return choice === word;
  const range = /^\((-?\d+)-(\d+)\)$/.exec(choice);
  if (range !== null) return /^-?\d+$/.test(word) && Number(word) >= Number(range[1]) && Number(word) <= Number(range[2]);
  if (choice.startsWith("A.B.C.D/M")) return isIpv4(word.split("/")[0]!) && /^[^/]*\/([12]?\d|3[0-2])$/.test(word);
  if (choice.startsWith("A.B.C.D")) return isIpv4(word);
  if (choice.startsWith("X:X::X:X/M")) return /^[\da-f:.]*:[\da-f:.]*\/\d+$/i.test(word);
  if (choice.startsWith("X:X::X:X")) return /^[\da-f:.]*:[\da-f:.]*$/i.test(word);
  return true;
}

/** Whether the word is the address of a prefix whose length is missing. */
function lacksLength(word: string, choice: string): boolean {
  if (!/^(?:A\.B\.C\.D|X:X::X:X)\/M/.test(choice) || word.includes("/")) return false;
  return fits(word, choice.startsWith("A") ? "A.B.C.D" : "X:X::X:X");
}

function lengthHint(prefix: string, next: string | undefined): string {
  const length = next === undefined ? undefined : lengthOfMask(next);
  if (length !== undefined) return `the address with its prefix length instead of a mask: /${length}`;
  return `the address with its prefix length, such as /${prefix.startsWith("A") ? 24 : 64}`;
}

/** Returns 24 for 255.255.255.0; undefined for a word that is not a mask. */
function lengthOfMask(word: string): number | undefined {
  if (!isIpv4(word)) return undefined;
  const bits = word
    .split(".")
    .map((byte) => Number(byte).toString(2).padStart(8, "0"))
    .join("");
  return /^1+0*$/.test(bits) ? bits.lastIndexOf("1") + 1 : undefined;
}

function isIpv4(text: string): boolean {
  const bytes = text.split(".");
  return bytes.length === 4 && bytes.every((byte) => /^\d{1,3}$/.test(byte) && Number(byte) < 256);
}
