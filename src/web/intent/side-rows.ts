import { lineDiff } from "../../base/line-diff.ts";

/** One side of a row: its line, with the part that differs from the other side. */
export interface SideCell {
  /** From 1. */
  readonly line: number;
  readonly text: string;
  /** Start and end of the part that differs, if both sides have a line; absent: the whole line. */
  readonly changed?: readonly [number, number];
}

/** A row of two texts side by side. */
export interface SideRow {
  readonly before: SideCell | undefined;
  readonly after: SideCell | undefined;
  readonly isSame: boolean;
}

/** A row, or a number of unchanged rows that are left out. */
export type ShownRow = SideRow | { readonly hidden: number };

/** Number of unchanged lines around a difference. */
const contextLines = 3;

/** Returns two texts as rows: a run of removed lines is beside the run of added lines that replaces it. */
export function sideRows(before: string, after: string): readonly SideRow[] {
  const rows: SideRow[] = [];
  const [removed, added]: [SideCell[], SideCell[]] = [[], []];
  let [left, right] = [0, 0];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++) rows.push(pairOf(removed[at], added[at]));
    removed.length = 0;
    added.length = 0;
  };
  for (const { sign, text } of lineDiff(before.split("\n"), after.split("\n"))) {
    if (sign === "-") removed.push({ line: ++left, text });
    else if (sign === "+") added.push({ line: ++right, text });
    else {
      flush();
      rows.push({ before: { line: ++left, text }, after: { line: ++right, text }, isSame: true });
    }
  }
  flush();
  return rows;
}

/** Leaves out the unchanged rows that are not near a difference. */
export function shownRows(rows: readonly SideRow[]): readonly ShownRow[] {
  const isNear = rows.map((_row, at) => rows.slice(Math.max(0, at - contextLines), at + contextLines + 1).some(({ isSame }) => !isSame));
  const shown: ShownRow[] = [];
  for (const [at, row] of rows.entries()) {
    const last = shown.at(-1);
    if (isNear[at] === true) shown.push(row);
    else if (last !== undefined && "hidden" in last) shown[shown.length - 1] = { hidden: last.hidden + 1 };
    else shown.push({ hidden: 1 });
  }
  return shown;
}

/** Marks the part between the common start and the common end of two lines. */
function pairOf(before: SideCell | undefined, after: SideCell | undefined): SideRow {
  if (before === undefined || after === undefined) return { before, after, isSame: false };
  const [a, b] = [before.text, after.text];
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && a[start] === b[start]) start++;
  let end = 0;
  while (end < shorter - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  return {
    before: { ...before, changed: [start, a.length - end] },
    after: { ...after, changed: [start, b.length - end] },
    isSame: false,
  };
}
