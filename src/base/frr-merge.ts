import { type FrrLine, keyOf, opener, type PlacedFrrLine, readFrr } from "./frr-config.ts";

/** Lines that a running FRR does not show, because they are its defaults or describe the file. */
const notShown =
  /^(?:no shutdown|ip forwarding|ipv6 forwarding|frr (?:version|defaults) .*|service integrated-vtysh-config|log syslog informational|line vty)$/;

/** Lines that FRR adds to each configuration that it shows. */
const addedByFrr = /^(?:frr version .*|frr defaults traditional|service integrated-vtysh-config|log syslog informational|line vty)$/;

const separator = /^\s*!\s*$/;

/** Maximum number of lines of both texts together that are merged. */
const maxLines = 20_000;

/**
 * Returns the configuration `own` with the changes that `running`, the configuration that FRR shows, has against it: comments, order and unchanged lines
 * stay. Returns `own` itself if both mean the same, and `running` if the changes cannot be found line by line.
 * @param hostname a line `hostname` with it is not a change
 * @param first what FRR showed after it had read `own`: lines of `own` that it did not show then stay. Absent: they count as removed
 */
export function mergeFrr(own: string, running: string, hostname: string, first?: string): string {
  const [mine, shown] = [readFrr(own), readFrr(running)];
  if (mine.lines.length === 0 || mine.flat || shown.flat || mine.lines.length + shown.lines.length > maxLines) return running;
  const known = { hostname, first: first === undefined ? undefined : usable(readFrr(first).lines, mine, shown.lines, hostname) };
  const match = matched(mine, shown.lines, known);
  if (match.gone.length === 0 && match.fresh.length === 0) return own;
  const merged = written(own, mine.lines, shown.lines, match);
  const again = matched(readFrr(merged), shown.lines, known);
  return again.gone.length === 0 && again.fresh.length === 0 ? merged : running;
}

/**
 * Returns the lines that FRR shows and that are in the first configuration or mean a line of the new startup-config, as text: what FRR shows of that
 * startup-config, without lines that somebody typed. @param last what FRR shows now; `before`: right before the startup-config changed
 */
export function shownOf(own: string, first: string, before: string, last: string): string {
  const [old, previous] = [first, before].map((text) => new Set(readFrr(text).lines.map(keyOf)));
  const { lines } = readFrr(last);
  const { same } = matched(readFrr(own), lines, { hostname: "", first: undefined });
  const kept = lines.filter((line) => old!.has(keyOf(line)) || !previous!.has(keyOf(line)) || same.has(keyOf(line)));
  return kept.map(({ sections, text }) => `${" ".repeat(sections.length)}${text}\n`).join("");
}

/**
 * Returns the lines of a configuration that a running FRR does not show, in any form that is known. Lines that FRR never shows, because they are its defaults,
 * are left out.
 */
export function linesNotShown(lines: readonly FrrLine[], running: string): readonly FrrLine[] {
  const shown = readFrr(running).lines;
  const there = formsIn(shown);
  const hasStyle = new Set(shown.flatMap(({ sections, text }) => (text.startsWith("metric-style ") ? sections : [])));
  const isDefault = ({ sections: [top = ""], text }: FrrLine) =>
    top.startsWith("router isis ") && text === "metric-style wide" && !hasStyle.has(top);
  return lines.filter((line) => !isHidden(line) && !isDefault(line) && !formsOf(line).some((form) => there.has(form)));
}

/** Facts that are in neither of the two texts. */
interface Known {
  readonly hostname: string;
  /** The lines that FRR showed first. */
  readonly first: readonly FrrLine[] | undefined;
}

/** Returns undefined if a line that FRR does not show any more is in the own text in a form that is not known. */
function usable(
  first: readonly PlacedFrrLine[],
  mine: ReturnType<typeof readFrr>,
  shown: readonly FrrLine[],
  hostname: string,
): Known["first"] {
  const now = new Set(shown.map(keyOf));
  const { same } = matched(mine, first, { hostname, first: undefined });
  return first.every((line) => now.has(keyOf(line)) || same.has(keyOf(line)) || mayBeEmpty(line)) ? first : undefined;
}

interface Match {
  /** Lines of the own text that the running configuration does not have. */
  readonly gone: readonly PlacedFrrLine[];
  /** Lines of the running configuration that the own text does not have. */
  readonly fresh: readonly PlacedFrrLine[];
  /** The line of the own text that means a line of the running configuration, by its key. */
  readonly same: ReadonlyMap<string, PlacedFrrLine>;
}

function matched({ lines: mine, unknown }: ReturnType<typeof readFrr>, shown: readonly PlacedFrrLine[], { hostname, first }: Known): Match {
  const there = formsIn(shown);
  const firstForms = first && formsIn(first);
  const firstKeys = new Set(first?.map(keyOf));
  const same = new Map<string, PlacedFrrLine>();
  const missing = mine.filter((line) => {
    const key = formsOf(line).flatMap((form) => there.get(form) ?? [])[0];
    if (key !== undefined && (!same.has(key) || key === keyOf(line))) same.set(key, line);
    return key === undefined;
  });
  for (const line of shown) {
    const family = line.sections.join("\n");
    const own = same.get(keyOf(line));
    // The lines of this family are directly in their `router bgp`.
    if (own !== undefined && own.sections.length < line.sections.length && !same.has(family)) same.set(family, own);
  }
  const routers = new Set(mine.flatMap(({ sections, text }) => (sections.length === 0 ? [/^router \S+/.exec(text)?.[0]] : [])));
  const wasShown = (line: FrrLine) => firstForms === undefined || formsOf(line).some((form) => firstForms.has(form));
  const lost = missing.filter(
    (line) => !unknown.has(line.sections[0] ?? line.text) && !isHidden(line) && !isIdle(line, routers) && wasShown(line),
  );
  // A section without lines configures nothing; FRR shows each interface.
  const used = new Set(lost.flatMap(prefixes));
  const added = shown.filter((line) => !same.has(keyOf(line)) && !isAddedByFrr(line, hostname) && !firstKeys.has(keyOf(line)));
  const needed = new Set(added.filter((line) => !mayBeEmpty(line)).flatMap(prefixes));
  return {
    gone: lost.filter((line) => !mayBeEmpty(line) || used.has(keyOf(line))),
    fresh: added.filter((line) => !mayBeEmpty(line) || needed.has(keyOf(line))),
    same,
  };
}

/** Returns key of each form → key of the line. */
function formsIn(shown: readonly FrrLine[]): ReadonlyMap<string, string> {
  const forms = new Map<string, string>();
  for (const line of shown) for (const form of [keyOf(line), plain(line)]) if (!forms.has(form)) forms.set(form, keyOf(line));
  return forms;
}

function mayBeEmpty({ text }: FrrLine): boolean {
  return /^(?:interface|address-family) /.test(text);
}

/** Returns the keys of the sections that contain a line. */
function prefixes({ sections }: FrrLine): readonly string[] {
  return sections.map((_, index) => sections.slice(0, index + 1).join("\n"));
}

function isAddedByFrr({ sections, text }: FrrLine, hostname: string): boolean {
  return sections.length === 0 && (addedByFrr.test(text) || text === `hostname ${hostname}`);
}

/** Whether FRR does not show this line although it has taken it. */
function isHidden({ sections, text }: FrrLine): boolean {
  const family = sections[1];
  const isIpv4 = sections[0]?.startsWith("router bgp") === true && (family === undefined || family === "address-family ipv4 unicast");
  return notShown.test(text) || (isIpv4 && /^neighbor \S+ activate$/.test(text));
}

/** Whether a line of an interface is for a daemon that does not run, because the configuration has no such router. */
function isIdle({ sections, text }: FrrLine, routers: ReadonlySet<string | undefined>): boolean {
  if (sections[0]?.startsWith("interface ") !== true) return false;
  const protocol = /^(?:ip |ipv6 )?(?:router )?(ospf6?|isis|rip(?:ng)?|eigrp) /.exec(text)?.[1];
  return protocol !== undefined && !routers.has(`router ${protocol}`);
}

/** Returns the keys by which FRR may show a line, the most probable first. */
function formsOf(line: FrrLine): readonly string[] {
  const { sections, text } = line;
  const top = sections[0] ?? "";
  const forms = [keyOf(line), plain(line)];
  const at = (places: readonly string[], other: string) => forms.push(keyOf({ sections: places, text: other }));
  if (top.startsWith("router bgp") && sections.length === 1) forms.push(plain({ sections: [top, "address-family ipv4 unicast"], text }));
  if (/^router ospf6?/.test(top) && text.startsWith("router-id ")) at(sections, `${top.split(" ")[1]} ${text}`);
  const interval = /^lsp-gen-interval (\d+)$/.exec(text)?.[1];
  if (top.startsWith("router isis ") && interval !== undefined)
    at(sections, `lsp-timers gen-interval ${interval} refresh-interval 900 max-lifetime 1200`);
  const passive = /^passive-interface (\S+)$/.exec(text)?.[1];
  if (top.startsWith("router ospf") && passive !== undefined) at([`interface ${passive}`], "ip ospf passive");
  return forms;
}

/** Returns the key of a line without numbers that FRR gives by itself, and with the network of a prefix in place of an address. */
function plain({ sections, text }: FrrLine): string {
  const isList = /^(?:ip |ipv6 )?(?:prefix-list|access-list) /.test(text);
  const unnumbered = isList ? text.replace(/ seq \d+ /, " ") : text;
  return keyOf({
    sections,
    text: unnumbered.startsWith("ip address ") ? unnumbered : unnumbered.replace(/\b(\d+(?:\.\d+){3})\/(\d+)\b/g, network),
  });
}

function network(prefix: string, address: string, length: string): string {
  const bytes = address.split(".").map(Number);
  if (bytes.some((byte) => byte > 255) || Number(length) > 32) return prefix;
  return `${bytes.map((byte, i) => byte & (0xff << (8 - Math.min(8, Math.max(0, Number(length) - 8 * i))))).join(".")}/${length}`;
}

/** Returns the own text without the lines that are gone, and with the fresh ones where the running configuration has them. */
function written(own: string, mine: readonly PlacedFrrLine[], shown: readonly PlacedFrrLine[], { gone, fresh, same }: Match): string {
  const raw = own.split(/\r?\n/);
  const lastOf = lastLines(raw, mine);
  const dropped = new Set(gone.flatMap(({ at }) => Array.from({ length: lastOf.get(at)! - at + 1 }, (_, i) => at + i)));
  const wanted = new Set(fresh.map(keyOf));
  const after = new Map<number, string[]>();
  /** By section, the place of its last line so far. */
  const places = new Map<string, Place>();
  for (let i = 0; i < shown.length; i++) {
    const line = shown[i]!;
    const parent = line.sections.join("\n");
    const known = same.get(keyOf(line));
    if (known !== undefined) places.set(parent, { at: lastOf.get(known.at)!, indent: known.indent });
    if (known !== undefined || !wanted.has(keyOf(line))) continue;
    const place = places.get(parent) ?? firstPlace(raw, parent, same.get(parent));
    places.set(parent, place);
    let next = i + 1;
    while (next < shown.length && shown[next]!.sections.length > line.sections.length) next += 1;
    const lines = after.get(place.at) ?? [];
    after.set(place.at, [...lines, ...separated(shown.slice(i, next), place, [lines.at(-1) ?? raw[place.at], raw[place.at + 1]])]);
    i = next - 1;
  }
  const eol = own.includes("\r\n") ? "\r\n" : "\n";
  return raw.flatMap((line, index) => [...(dropped.has(index) ? [] : [line]), ...(after.get(index) ?? [])]).join(eol);
}

/** Behind this line of the own text, with this indentation. */
interface Place {
  readonly at: number;
  readonly indent: number;
}

/** Returns the place of a line that has no line before it: the beginning of its section, or the end of the text. */
function firstPlace(raw: readonly string[], parent: string, section: PlacedFrrLine | undefined): Place {
  if (section !== undefined) return { at: section.at, indent: section.indent + (keyOf(section) === parent ? 1 : 0) };
  return { at: raw.findLastIndex((line) => line.trim() !== "" && line.trim() !== "end"), indent: 0 };
}

/** Returns a line with the lines of its section as text, with separators around a section of the top level. */
function separated(
  block: readonly FrrLine[],
  { indent }: Place,
  [above = "!", below = ""]: readonly (string | undefined)[],
): readonly string[] {
  const lines: string[] = [];
  const depth = block[0]!.sections.length;
  let family: string | undefined;
  const endFamily = () => {
    if (family !== undefined) lines.push(`${family}exit-address-family`);
    family = undefined;
  };
  for (const { sections, text } of block) {
    const blanks = " ".repeat(indent + sections.length - depth);
    if (family !== undefined && blanks.length <= family.length) endFamily();
    lines.push(blanks + text);
    if (text.startsWith("address-family ")) family = blanks;
  }
  endFamily();
  if (depth > 0 || !opener.test(block[0]!.text)) return lines;
  return [...(separator.test(above) ? [] : ["!"]), ...lines, ...(below.trim() === "" || separator.test(below) ? [] : ["!"])];
}

/** Returns, by the index of a line, the index of the last line of its section, with the end of the section and a separator. */
function lastLines(raw: readonly string[], lines: readonly PlacedFrrLine[]): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  for (const [index, { at, sections, text }] of lines.entries()) {
    let next = index + 1;
    while (next < lines.length && lines[next]!.sections.length > sections.length) next += 1;
    let last = lines[next - 1]!.at;
    const isTop = sections.length === 0;
    const end = isTop ? /^exit(?:-vrf)?$/ : /^exit-address-family$/;
    const isSection = isTop ? opener.test(text) : text.startsWith("address-family ");
    if (isSection && end.test(raw[last + 1]?.trim() ?? "")) last += 1;
    if (isSection && isTop && separator.test(raw[last + 1] ?? "")) last += 1;
    found.set(at, last);
  }
  return found;
}
