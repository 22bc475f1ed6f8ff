/** A unified diff of two texts with three lines of context; empty where they are the same. */
export function unifiedDiff(before: string, after: string, name: string): string {
  if (before === after) return "";
  const [a, b] = [lines(before), lines(after)];
  const edits = compare(a, b);
  const out = [`--- ${name}`, `+++ ${name}`];
  for (const [from, to] of hunks(edits)) {
    const hunk = edits.slice(from, to);
    const first = hunk[0];
    if (first === undefined) continue;
    const [oldCount, newCount] = [hunk.filter(({ sign }) => sign !== "+").length, hunk.filter(({ sign }) => sign !== "-").length];
    out.push(`@@ -${first.a + (oldCount > 0 ? 1 : 0)},${oldCount} +${first.b + (newCount > 0 ? 1 : 0)},${newCount} @@`);
    for (const { sign, text } of hunk) out.push(`${sign}${text}`);
  }
  return out.join("\n");
}

interface Edit {
  readonly sign: " " | "-" | "+";
  readonly text: string;
  /** Lines before this one, on each side. */
  readonly a: number;
  readonly b: number;
}

const context = 3;
const mostEdits = 1000;

/** A text without a line end at its end differs from one with it, and says so as diff does. */
function lines(text: string): string[] {
  if (text === "") return [];
  const list = text.split("\n");
  if (list.at(-1) === "") list.pop();
  else list.push("\\ No newline at end of file");
  return list;
}

/** The shortest edit script (Myers); the equal beginning and end are taken off first, which is most of the text. */
function compare(a: readonly string[], b: readonly string[]): readonly Edit[] {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const edits: Edit[] = a.slice(0, head).map((text, index) => ({ sign: " ", text, a: index, b: index }));
  edits.push(...shortest(a.slice(head, a.length - tail), b.slice(head, b.length - tail), head));
  for (let index = tail; index > 0; index--) {
    edits.push({ sign: " ", text: a[a.length - index] ?? "", a: a.length - index, b: b.length - index });
  }
  return edits;
}

function shortest(a: readonly string[], b: readonly string[], offset: number): readonly Edit[] {
  const trace: Map<number, number>[] = [];
  const reach = new Map([[1, 0]]);
  search: for (let depth = 0; depth <= a.length + b.length; depth++) {
    // Texts with so little in common are easier to read one after the other, and cost nothing to show so.
    if (depth > mostEdits)
      return [
        ...a.map((text, x) => ({ sign: "-" as const, text, a: offset + x, b: offset })),
        ...b.map((text, y) => ({ sign: "+" as const, text, a: offset + a.length, b: offset + y })),
      ];
    trace.push(new Map(reach));
    for (let k = -depth; k <= depth; k += 2) {
      const down = k === -depth || (k !== depth && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
      let x = down ? (reach.get(k + 1) ?? 0) : (reach.get(k - 1) ?? 0) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      reach.set(k, x);
      if (x >= a.length && x - k >= b.length) break search;
    }
  }
  const edits: Edit[] = [];
  let [x, y] = [a.length, b.length];
  for (let depth = trace.length - 1; depth >= 0; depth--) {
    const known = trace[depth] as Map<number, number>;
    const k = x - y;
    const down = k === -depth || (k !== depth && (known.get(k - 1) ?? -1) < (known.get(k + 1) ?? -1));
    const before = down ? k + 1 : k - 1;
    const fromX = known.get(before) ?? 0;
    const fromY = fromX - before;
    while (x > fromX && y > fromY && x > 0 && y > 0) {
      x--;
      y--;
      edits.push({ sign: " ", text: a[x] ?? "", a: offset + x, b: offset + y });
    }
    if (depth === 0) break;
    if (down) {
      y--;
      edits.push({ sign: "+", text: b[y] ?? "", a: offset + x, b: offset + y });
    } else {
      x--;
      edits.push({ sign: "-", text: a[x] ?? "", a: offset + x, b: offset + y });
    }
  }
  return edits.reverse();
}

/** Stretches of the edits around changes, neighbours joined. */
function hunks(edits: readonly Edit[]): readonly (readonly [number, number])[] {
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
