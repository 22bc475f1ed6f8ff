/** The compared letters that hints may still cost, so that thousands of typos among thousands of names do not take minutes. */
export interface Effort {
  left: number;
}

/** Returns the candidate that the user most likely meant. Returns undefined if none is near, or if the remaining effort is used up. */
export function nearest(word: string, candidates: Iterable<string>, effort: Effort = { left: 10_000_000 }): string | undefined {
  const wanted = fold(word);
  let best: string | undefined;
  // One edit per three letters, at least one, but never a completely different word.
  let bestDistance = Math.min(Math.max(1, Math.floor(Math.min(word.length, 24) / 3)) + 1, word.length);
  let looked = 0;
  for (const candidate of candidates) {
    // A hint is not worth more work.
    if (++looked > 2000 || --effort.left < 0) break;
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const folded = fold(candidate);
    const distance = folded === wanted ? 0 : editDistance(wanted, folded, bestDistance, effort);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Returns `did you mean "image"?`, or undefined. */
export function didYouMean(word: string, candidates: Iterable<string>, effort: Effort): string | undefined {
  const found = nearest(word, candidates, effort);
  return found === undefined ? undefined : `did you mean ${JSON.stringify(found)}?`;
}

function fold(word: string): string {
  return word.slice(0, 64).toLowerCase().replaceAll("_", "-");
}

/** Returns the number of edits between two words (swapping two neighbours is one edit), or `limit` if they are at least that far apart. */
function editDistance(a: string, b: string, limit: number, effort: Effort): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    effort.left -= b.length;
    let smallest = i;
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let value = Math.min((previous[j] as number) + 1, (row[j - 1] as number) + 1, (previous[j - 1] as number) + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) value = Math.min(value, (before[j - 2] as number) + 1);
      row.push(value);
      smallest = Math.min(smallest, value);
    }
    if (smallest >= limit) return limit;
    before = previous;
    previous = row;
  }
  return Math.min(previous[b.length] as number, limit);
}
