/**
 * Orders names as people do: r2 before r10. Total and independent of locale: digit runs compare as numbers, everything else by code
 * unit; names that are equal so far ("r01", "r1") fall back to code units.
 */
export function compareNatural(a: string, b: string): number {
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(j);
    if (isDigit(x) && isDigit(y)) {
      const iEnd = digitsEnd(a, i);
      const jEnd = digitsEnd(b, j);
      const order = compareDigits(a, i, iEnd, b, j, jEnd);
      if (order !== 0) return order;
      i = iEnd;
      j = jEnd;
    } else {
      if (x !== y) return x - y;
      i++;
      j++;
    }
  }
  const rest = a.length - i - (b.length - j);
  return rest !== 0 ? rest : a < b ? -1 : a > b ? 1 : 0;
}

/** Digit runs of any length, without going through a number. */
function compareDigits(a: string, i: number, iEnd: number, b: string, j: number, jEnd: number): number {
  while (i < iEnd - 1 && a[i] === "0") i++;
  while (j < jEnd - 1 && b[j] === "0") j++;
  const length = iEnd - i - (jEnd - j);
  if (length !== 0) return length;
  for (; i < iEnd; i++, j++) {
    const order = a.charCodeAt(i) - b.charCodeAt(j);
    if (order !== 0) return order;
  }
  return 0;
}

function digitsEnd(text: string, start: number): number {
  let end = start;
  while (end < text.length && isDigit(text.charCodeAt(end))) end++;
  return end;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}
