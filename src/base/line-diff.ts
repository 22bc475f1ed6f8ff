export interface DiffLine {
  /** " ": in both texts, "-": only in the old text, "+": only in the new text. */
  readonly sign: " " | "-" | "+";
  readonly text: string;
}

/** More edits than this are not searched for: such texts are shown as replaced. */
const maxEdits = 1000;

/** Returns the shortest list of lines that turns `before` into `after`, by the algorithm of Myers. Texts with more than 1,000 edits are shown as replaced. */
export function lineDiff(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  const shorter = Math.min(before.length, after.length) - head;
  let tail = 0;
  while (tail < shorter && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  const middle = shortestEdits(before.slice(head, before.length - tail), after.slice(head, after.length - tail));
  return [...signed(" ", before.slice(0, head)), ...middle, ...signed(" ", before.slice(before.length - tail))];
}

function signed(sign: DiffLine["sign"], lines: readonly string[]): DiffLine[] {
  return lines.map((text) => ({ sign, text }));
}

function shortestEdits(a: readonly string[], b: readonly string[]): readonly DiffLine[] {
  const trace = reachByEdits(a, b);
  return trace === undefined ? [...signed("-", a), ...signed("+", b)] : backtrack(a, b, trace);
}

/** Diagonal (position in a minus position in b) → the furthest position in a. */
type Reach = ReadonlyMap<number, number>;

/** Returns the reach before each number of edits, up to the number that is enough; `undefined` if `maxEdits` are not enough. */
function reachByEdits(a: readonly string[], b: readonly string[]): readonly Reach[] | undefined {
  const trace: Reach[] = [];
  const reach = new Map([[1, 0]]);
  for (let edits = 0; edits <= Math.min(a.length + b.length, maxEdits); edits++) {
    trace.push(new Map(reach));
    for (let k = -edits; k <= edits; k += 2) {
      let x = isInsertion(reach, k, edits) ? (reach.get(k + 1) ?? 0) : (reach.get(k - 1) ?? 0) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      reach.set(k, x);
      if (x >= a.length && x - k >= b.length) return trace;
    }
  }
  return undefined;
}

function isInsertion(reach: Reach, k: number, edits: number): boolean {
  return k === -edits || (k !== edits && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
}

function backtrack(a: readonly string[], b: readonly string[], trace: readonly Reach[]): readonly DiffLine[] {
  const lines: DiffLine[] = [];
  let [x, y] = [a.length, b.length];
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const reach = trace[edits]!;
    const k = x - y;
    const inserted = isInsertion(reach, k, edits);
    const previous = inserted ? k + 1 : k - 1;
    const fromX = reach.get(previous) ?? 0;
    const fromY = fromX - previous;
    while (x > fromX && y > fromY && x > 0 && y > 0) {
      lines.push({ sign: " ", text: a[--x]! });
      y--;
    }
    if (edits === 0) break;
    lines.push(inserted ? { sign: "+", text: b[--y]! } : { sign: "-", text: a[--x]! });
  }
  return lines.reverse();
}
