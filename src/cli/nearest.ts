/** The word that was most likely meant: at most two letters off, and less than half of it. */
export function nearest(text: string, words: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = Math.min(3, text.length / 2 + 0.5);
  for (const word of words) {
    const distance = editDistance(text, word);
    if (distance < least) [best, least] = [word, distance];
  }
  return best;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
