/** Returns a copy sorted by name in natural order. */
export function inNaturalOrder<T>(items: readonly T[], nameOf: (item: T) => string): readonly T[] {
  return items.toSorted((a, b) => compareNatural(nameOf(a), nameOf(b)));
}

/**
 * Compares names in natural order: r2 comes before r10. Digits compare as numbers, and everything else by code unit, in any locale. Only equal names compare
 * as equal: for "r01" and "r1" the code units decide.
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

/** Compares runs of digits of any length, without a conversion to numbers. */
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
