export interface DiffLine {
  readonly sign: " " | "-" | "+";
  readonly text: string;
}

/** Above this many lines of difference the middle is shown as replaced: a smallest difference would take too long. */
const most = 3000;

/** The lines of two texts: what both have, what only the first, what only the second. */
export function lineDiff(before: string, after: string): readonly DiffLine[] {
  const a = before.split("\n");
  const b = after.split("\n");
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const lines = (sign: DiffLine["sign"], some: readonly string[]) => some.map((text): DiffLine => ({ sign, text }));
  const middle = between(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  return [...lines(" ", a.slice(0, head)), ...middle, ...lines(" ", a.slice(a.length - tail))];
}

/** By the longest common subsequence. */
function between(a: readonly string[], b: readonly string[]): readonly DiffLine[] {
  if (a.length + b.length > most) {
    return [...a.map((text): DiffLine => ({ sign: "-", text })), ...b.map((text): DiffLine => ({ sign: "+", text }))];
  }
  const width = b.length + 1;
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] =
        a[i] === b[j] ? common[(i + 1) * width + j + 1]! + 1 : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
    }
  }
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ sign: " ", text: a[i]! });
      i++;
      j++;
    } else if (j >= b.length || (i < a.length && common[(i + 1) * width + j]! >= common[i * width + j + 1]!)) {
      lines.push({ sign: "-", text: a[i++]! });
    } else {
      lines.push({ sign: "+", text: b[j++]! });
    }
  }
  return lines;
}
