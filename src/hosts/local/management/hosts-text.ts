/** A name of a node, such as r1.campus. */
export interface NamedAddress {
  readonly name: string;
  readonly address: string;
}

/** Returns whether programs understand the name in a hosts file. */
export function isHostName(name: string): boolean {
  return name.length <= 253 && /^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?)+$/i.test(name);
}

/** Returns the text with the block of this mark: with these names, or without a block if there are none. All other bytes stay. */
export function hostsWith(text: string, mark: string, named: readonly NamedAddress[]): string {
  const lines = linesOf(text);
  const { first, end } = blockOf(lines, mark);
  const before = lines.slice(0, first);
  const after = lines.slice(end);
  if (named.length === 0) return [...before, ...after].join("");
  const block = [begin(mark), ...named.map(({ name, address }) => `${address} ${name}`), finish(mark)].map((line) => `${line}\n`);
  const last = before.at(-1);
  // A last line without a line break would swallow the block's first one.
  const gap = last !== undefined && !last.endsWith("\n") ? ["\n"] : [];
  return [...before, ...gap, ...block, ...after].join("");
}

/** Returns the names of all lines outside the block of this mark, in lower case. */
export function namesBesides(text: string, mark: string): ReadonlySet<string> {
  const lines = linesOf(text);
  const { first, end } = blockOf(lines, mark);
  const others = [...lines.slice(0, first), ...lines.slice(end)];
  return new Set(
    others.flatMap((line) =>
      line
        .replace(/#.*/s, "")
        .trim()
        .split(/\s+/)
        .slice(1)
        .map((name) => name.toLowerCase()),
    ),
  );
}

const begin = (mark: string) => `# labwright ${mark}: begin`;
const finish = (mark: string) => `# labwright ${mark}: end`;

/** Returns the lines with their line breaks. */
function linesOf(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** Returns the place of the block; an empty place at the end if there is none. A block whose end was removed by hand consists of the lines that look like ours. */
function blockOf(lines: readonly string[], mark: string): { readonly first: number; readonly end: number } {
  const first = lines.findIndex((line) => line.trimEnd() === begin(mark));
  if (first < 0) return { first: lines.length, end: lines.length };
  const last = lines.findIndex((line, at) => at > first && line.trimEnd() === finish(mark));
  if (last >= 0 && !lines.slice(first + 1, last).some((line) => line.startsWith("# labwright "))) return { first, end: last + 1 };
  let end = first + 1;
  while (end < lines.length && /^[0-9a-f.:]+ \S+\n?$/i.test(lines[end]!)) end++;
  return { first, end };
}
