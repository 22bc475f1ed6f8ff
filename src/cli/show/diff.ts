import { type DiffLine, lineDiff } from "../../base/line-diff.ts";

/** Returns the unified diff of two texts with three lines of context; an empty text if they are the same. */
export function unifiedDiff(before: string, after: string, name: string): string {
  if (before === after) return "";
  const edits = lineDiff(linesOf(before), linesOf(after));
  const out = [`--- ${name}`, `+++ ${name}`];
  const position = { before: 0, after: 0 };
  let end = 0;
  for (const [from, to] of hunks(edits)) {
    advance(position, edits.slice(end, from));
    const hunk = edits.slice(from, to);
    const start = { ...position };
    advance(position, hunk);
    end = to;
    out.push(`@@ -${range(start.before, position.before)} +${range(start.after, position.after)} @@`);
    for (const { sign, text } of hunk) out.push(`${sign}${text}`);
  }
  return out.join("\n");
}

/** Returns first line and number of lines, as a hunk's head has them: the line before the hunk if the hunk has no line. */
function range(start: number, end: number): string {
  return `${end > start ? start + 1 : start},${end - start}`;
}

function advance(position: { before: number; after: number }, edits: readonly DiffLine[]): void {
  position.before += edits.filter(({ sign }) => sign !== "+").length;
  position.after += edits.filter(({ sign }) => sign !== "-").length;
}

const context = 3;

/** Splits the text into lines. A missing line end at the end of the text becomes a line of its own, as in diff. */
function linesOf(text: string): string[] {
  if (text === "") return [];
  const list = text.split("\n");
  if (list.at(-1) === "") list.pop();
  else list.push("\\ No newline at end of file");
  return list;
}

/** Returns the ranges of edits around changes. Overlapping ranges are joined. */
function hunks(edits: readonly DiffLine[]): readonly (readonly [number, number])[] {
  const ranges: [number, number][] = [];
  for (const [index, { sign }] of edits.entries()) {
    if (sign === " ") continue;
    const last = ranges.at(-1);
    const [from, to] = [Math.max(0, index - context), Math.min(edits.length, index + context + 1)];
    if (last !== undefined && from <= last[1]) last[1] = to;
    else ranges.push([from, to]);
  }
  return ranges;
}
