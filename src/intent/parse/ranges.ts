/** Maximum number of names that one text with ranges stands for. */
export const maxRange = 4096;

/** Counts the names that all ranges and groups of a lab stand for. They are counted before they are made. */
export class NameCount {
  static readonly max = 200_000;
  static readonly problem = `the ranges and groups of the lab stand for more than ${NameCount.max} names together`;
  #left = NameCount.max;

  /** Returns whether the lab may have these names too. */
  take(count: number): boolean {
    this.#left -= count;
    return this.#left >= 0;
  }
}

/** A name of a range, with the value of each pair of braces: leaf2 of leaf{1..4} has "2". */
export interface RangeName {
  readonly name: string;
  readonly items: readonly string[];
}

const BRACES = /\{([^{}]*)\}/g;
const NUMBERS = /^(\d{1,9})\.\.(\d{1,9})$/;
const WORD = /^[A-Za-z0-9._-]+$/;

/** Whether the text is a range or a mistake in one: no name contains a brace. */
export function hasRange(text: string): boolean {
  return text.includes("{") || text.includes("}");
}

/**
 * Returns the names of a text with ranges and lists, in the order that a shell has them: leaf{1..3}, {a,b}-{01..12}, r{1..3,7}. Numbers have the digits of
 * the first one. Returns the problem of a text that is none, or that stands for more names than `maxRange`, or than `total` has left.
 */
export function expandRange(
  text: string,
  total: NameCount,
): readonly RangeName[] | { readonly problem: string; readonly isTooLarge?: true } {
  if (/[{}]/.test(text.replace(BRACES, ""))) return { problem: `a brace is not closed in ${shown(text)}` };
  const parts: { readonly before: string; readonly choices: readonly Choice[] }[] = [];
  let at = 0;
  let count = 1;
  for (const found of text.matchAll(BRACES)) {
    const choices: Choice[] = [];
    for (const one of (found[1] ?? "").split(",")) {
      const choice = choiceOf(one.trim());
      if (choice === undefined) {
        return { problem: `${shown(found[0])} is not a range` };
      }
      choices.push(choice);
    }
    count *= choices.reduce((sum, { size }) => sum + size, 0);
    // Counted before any name is made: a range of 999999999 names costs nothing.
    if (count > maxRange) return { problem: `${shown(text)} stands for more than ${maxRange} names`, isTooLarge: true };
    parts.push({ before: text.slice(at, found.index), choices });
    at = found.index + found[0].length;
  }
  if (!total.take(count)) return { problem: NameCount.problem, isTooLarge: true };
  let names: readonly RangeName[] = [{ name: "", items: [] }];
  for (const { before, choices } of parts) {
    const values = choices.flatMap(({ values: each }) => each());
    names = names.flatMap(({ name, items }) => values.map((value) => ({ name: `${name}${before}${value}`, items: [...items, value] })));
  }
  const rest = text.slice(at);
  return names.map(({ name, items }) => ({ name: `${name}${rest}`, items }));
}

interface Choice {
  readonly size: number;
  readonly values: () => readonly string[];
}

function choiceOf(text: string): Choice | undefined {
  const [, first, last] = NUMBERS.exec(text) ?? [];
  if (first === undefined || last === undefined) {
    return WORD.test(text) && !text.includes("..") ? { size: 1, values: () => [text] } : undefined;
  }
  const size = Number(last) - Number(first) + 1;
  if (size < 1) return undefined;
  return { size, values: () => Array.from({ length: size }, (_, index) => String(Number(first) + index).padStart(first.length, "0")) };
}

function shown(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
