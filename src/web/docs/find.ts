/** A section of a page, as the build lists it in search.json. */
export interface SearchRow {
  /** Relative to the site: links.html#suspend. */
  readonly address: string;
  readonly page: string;
  readonly heading: string;
  readonly text: string;
}

export interface Found {
  readonly row: SearchRow;
  /** The text around the first word. */
  readonly excerpt: string;
}

const maxFound = 15;
const excerptLength = 160;

/** Returns the sections that contain all words, those with words in headings first. Upper and lower case are the same. */
export function findSections(rows: readonly SearchRow[], query: string): readonly Found[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const scored = rows.flatMap((row) => {
    const title = `${row.page} ${row.heading}`.toLowerCase();
    const text = row.text.toLowerCase();
    if (!words.every((word) => title.includes(word) || text.includes(word))) return [];
    const score =
      words.filter((word) => row.heading.toLowerCase().includes(word)).length * 2 + words.filter((word) => title.includes(word)).length;
    return [{ row, score, excerpt: excerptOf(row.text, words) }];
  });
  return scored.sort((a, b) => b.score - a.score).slice(0, maxFound);
}

function excerptOf(text: string, words: readonly string[]): string {
  const places = words.map((word) => text.toLowerCase().indexOf(word)).filter((place) => place >= 0);
  const begin = Math.max(0, Math.min(...places, text.length) - excerptLength / 3);
  const part = text.slice(begin, begin + excerptLength);
  return `${begin > 0 ? "…" : ""}${part}${begin + excerptLength < text.length ? "…" : ""}`;
}
