import { type FrrLine, keyOf, opener, readFrr } from "./frr-config.ts";

/** Maximum number of lines of both texts together that are compared. */
const maxLines = 20_000;

/**
 * Returns whether FRR makes the same of two configurations: the same lines in the same sections. A section may be in several parts, and lines of different
 * settings in another order. Returns false if that is not certain, or if a comment differs.
 */
export function sameFrr(a: string, b: string): boolean {
  if (a === b) return true;
  const [one, other] = [readFrr(a), readFrr(b)];
  if (one.lines.length + other.lines.length > maxLines) return false;
  // A router with an empty configuration starts with the default daemons.
  if (one.lines.length === 0 || other.lines.length === 0 || comments(a) !== comments(b)) return false;
  if (one.flat || other.flat || one.unknown.size > 0 || other.unknown.size > 0) return false;
  const [mine, theirs] = [contents(one.lines), contents(other.lines)];
  return mine.size === theirs.size && [...mine].every(([section, text]) => theirs.get(section) === text);
}

function comments(text: string): string {
  const lines = text.split("\n").map((line) => line.trim());
  return lines.filter((line) => /^[!#].*\w/.test(line)).join("\n");
}

/** Returns the lines of each section as one text, in an order that is the same for all orders with the same effect. */
function contents(lines: readonly FrrLine[]): ReadonlyMap<string, string> {
  const found = new Map<string, string[]>();
  for (const line of lines) {
    const { sections, text } = line;
    const isHeader = (sections.length === 0 && opener.test(text)) || text.startsWith("address-family ");
    // An interface without lines configures nothing.
    if (isHeader && text.startsWith("interface ")) continue;
    const section = isHeader ? keyOf(line) : sections.join("\n");
    const list = found.get(section) ?? [];
    if (!isHeader) list.push(text);
    found.set(section, list);
  }
  return new Map([...found].map(([section, texts]) => [section, ordered(section, texts).join("\n")]));
}

/** Lines of one setting keep their order: the later one wins. */
function ordered(section: string, texts: readonly string[]): readonly string[] {
  if (texts.some((text) => text.startsWith("no "))) return texts;
  // At the top level, lists of prefixes and of paths depend on the order of their lines.
  const isFree = (text: string) => section !== "" || /^(?:ip|ipv6) route /.test(text);
  const setting = (text: string) => (/^(?:network|redistribute) /.test(text) ? text : text.slice(0, text.lastIndexOf(" ") + 1));
  const free = texts.filter(isFree).toSorted((a, b) => (setting(a) < setting(b) ? -1 : Number(setting(a) > setting(b))));
  return [...free, ...texts.filter((text) => !isFree(text))].filter((text, index, all) => text !== all[index - 1]);
}
