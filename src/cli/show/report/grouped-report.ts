import type { ImportLine } from "../../../importers/tree/report.ts";

/** So many lines with one message become one. */
const minLines = 3;
/** So many line numbers are shown of a group. */
const maxNumbers = 6;

/** Returns the lines of a report as text. Several lines of a file with one message and one kind of part are one, so that the report of a large lab is short. */
export function groupedReport(lines: readonly ImportLine[]): readonly string[] {
  const groups = new Map<string, ImportLine[]>();
  for (const line of lines) {
    const group = groups.get(groupOf(line));
    if (group === undefined) groups.set(groupOf(line), [line]);
    else group.push(line);
  }
  return lines.flatMap((line) => {
    const group = groups.get(groupOf(line)) ?? [];
    if (group.length < minLines) return [reportLine(line)];
    return group[0] === line ? [groupLine(group)] : [];
  });
}

function groupOf({ file, level, message, path }: ImportLine): string {
  return JSON.stringify([file, level, message, shapeOf(path)]);
}

export function reportLine({ file, line, level, path, message }: ImportLine): string {
  return `  ${file}:${line}: ${level} ${path || "/"}: ${message}`;
}

function groupLine(group: readonly ImportLine[]): string {
  const [first] = group as [ImportLine];
  const numbers = [...new Set(group.map(({ line }) => line))];
  const shown = numbers.slice(0, maxNumbers).join(",");
  const path = commonPath(group.map((one) => one.path));
  return `  ${first.file}:${shown}${numbers.length > maxNumbers ? ",…" : ""}: ${first.level} ${path} (${group.length} parts): ${first.message}`;
}

/** Paths whose first and last keys and number of keys agree are of one kind of part. A number in a list is any number. */
function shapeOf(path: string): string {
  const parts = path.split("/");
  return [parts[1], parts.length, parts.at(-1)?.replace(/^\d+$/, "*")].join(" ");
}

/** Returns the path with `*` in place of the keys in which the paths differ. */
function commonPath(paths: readonly string[]): string {
  const [first = [], ...others] = paths.map((path) => path.split("/"));
  return first.map((part, at) => (others.every((other) => other[at] === part) ? part : "*")).join("/");
}
