import { visibleCell } from "./visible.ts";

/** Formats a table: columns with headings, two spaces apart, without trailing blanks. Empty columns are left out. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const used = headings.map((_, column) => rows.some((row) => (row[column] ?? "") !== ""));
  const lines = [headings, ...rows].map((row) =>
    headings.map((_, column) => visibleCell(row[column] ?? "")).filter((_, column) => used[column] === true),
  );
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => [...(line[column] ?? "")].length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - [...cell].length))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** Formats a duration: 850 ms, 12 s, 3 min 5 s, 2 h 10 min. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`;
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Formats a size: 12 MiB. */
export function bytes(count: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let [value, unit] = [count, 0];
  while (value >= 1024 && unit < units.length - 1) [value, unit] = [value / 1024, unit + 1];
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** Joins words: a, b or c. */
export function wordList(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

/** Joins at most `max` words: a, b, c and 4 more. */
export function shortList(words: readonly string[], max = 8): string {
  if (words.length <= max) return words.join(", ");
  return `${words.slice(0, max).join(", ")} and ${words.length - max} more`;
}
