/** A part of a text, and the text that replaces it. */
export interface ChangedPart {
  readonly from: number;
  readonly to: number;
  readonly insert: string;
}

/** Returns the part between the first and the last difference of two texts; undefined for equal texts. */
export function changedPart(before: string, after: string): ChangedPart | undefined {
  if (before === after) return undefined;
  const shorter = Math.min(before.length, after.length);
  let from = 0;
  while (from < shorter && before[from] === after[from]) from++;
  let end = 0;
  while (end < shorter - from && before.at(-1 - end) === after.at(-1 - end)) end++;
  return { from, to: before.length - end, insert: after.slice(from, after.length - end) };
}
