/** A line of an FRR configuration with the sections that contain it, outermost first. */
export interface FrrLine {
  readonly sections: readonly string[];
  readonly text: string;
}

/** A line with its place in the text. */
export interface PlacedFrrLine extends FrrLine {
  /** Index of the line in the text. */
  readonly at: number;
  /** Number of blanks in front of it. */
  readonly indent: number;
}

/** The lines by which two configurations differ, in their order. */
export interface FrrChange {
  readonly removed: readonly FrrLine[];
  readonly added: readonly FrrLine[];
  /** Why FRR reads one of these lines only at its start, for people. Absent: a running router takes all of them. */
  readonly restart?: string;
}

/** Lines that describe the file or end a section, and configure nothing. */
const empty = /^(?:!|#|exit$|exit-vrf$|exit-address-family$|end$|frr version |Building configuration|Current configuration)/;

/** Sections at the top level. */
export const opener =
  /^(?:interface|router (?:ospf6?|bgp|isis|ripng|rip|eigrp|babel|openfabric)|route-map|bfd|vrf|key chain|pbr-map|nexthop-group|segment-routing|mpls ldp|line|rpki|l2vpn|pseudowire)(?: |$)/;

/** Lines at the top level that a running router takes. Removed, they need only a `no`. */
const liveLine =
  /^(?:no )?(?:ip route|ipv6 route|ip prefix-list|ipv6 prefix-list|access-list|ipv6 access-list|ip protocol|ipv6 protocol|ip nht|ipv6 nht|ip router-id|ip forwarding|ipv6 forwarding|ip pim|ip multicast|bgp (?:as-path|community-list|extcommunity-list|large-community-list)|hostname|debug|log) ?/;

/** Sections that a running router takes, and whether `no` removes the whole section. */
const liveSection = /^(?:interface|router (?:ospf6?|bgp|isis|ripng|rip|eigrp|babel|openfabric)|route-map|bfd|key chain)(?: |$)/;
const removable = /^(?:router |route-map |bfd$|key chain )/;

/** Lines that FRR adds when it saves its configuration. A text without them asks for nothing else. */
const addedByFrr = /^(?:frr defaults traditional|hostname |service integrated-vtysh-config|log syslog informational|line vty)/;

/** Lines without effect, because they are the defaults. */
const defaults = /^(?:frr defaults traditional|service integrated-vtysh-config|line vty)$/;

/** Maximum number of lines of each text that are compared. */
const maxLines = 20_000;

/** Returns the lines that differ, and whether a running FRR can take them. Pure text: no grammar of single commands. */
export function frrChange(before: string, after: string): FrrChange {
  const [old, now] = [readFrr(before), readFrr(after)];
  if (old.lines.length + now.lines.length > maxLines)
    return { removed: [], added: [], restart: "the configuration is too long to be compared" };
  if (now.lines.length === 0)
    return { removed: [], added: [], restart: "a router without a startup-config starts with the default daemons" };
  const [oldKeys, nowKeys] = [new Set(old.lines.map(keyOf)), new Set(now.lines.map(keyOf))];
  const removed = old.lines.filter((line) => !nowKeys.has(keyOf(line)) && !(line.sections.length === 0 && addedByFrr.test(line.text)));
  const added = now.lines.filter((line) => !oldKeys.has(keyOf(line)) && !(line.sections.length === 0 && defaults.test(line.text)));
  // FRR has not taken a section that it does not know, such as one whose first word has a typing error.
  const taken = removed.filter(({ sections, text }) => !old.unknown.has(sections[0] ?? text));
  const restart =
    old.flat || now.flat ? "lines of a section are not indented, so their section is not certain" : reasonOf([...taken, ...added]);
  return { removed, added, ...(restart === undefined ? {} : { restart }) };
}

function reasonOf(lines: readonly FrrLine[]): string | undefined {
  for (const { sections, text } of lines) {
    const top = sections[0] ?? text;
    if (sections.length > 0 || opener.test(text) ? liveSection.test(top) : liveLine.test(top)) continue;
    return `FRR reads "${top.split(" ", 1)[0]} …" only at its start`;
  }
  return undefined;
}

/** Identifies a line of a configuration. */
export function keyOf({ sections, text }: FrrLine): string {
  return [...sections, text].join("\n");
}

/**
 * Reads the lines of a configuration file or of `show running-config`. `flat`: a section has lines that are not indented. `unknown`: first lines of sections
 * that are not FRR's.
 */
export function readFrr(text: string): {
  readonly lines: readonly PlacedFrrLine[];
  readonly flat: boolean;
  readonly unknown: ReadonlySet<string>;
} {
  const lines: PlacedFrrLine[] = [];
  const unknown = new Set<string>();
  let doubtful: string | undefined;
  const open: { readonly text: string; readonly indent: number }[] = [];
  let flat = false;
  for (const [at, raw] of text.split(/\r?\n/).entries()) {
    const line = raw.trim().replace(/\s+/g, " ");
    const indent = raw.length - raw.trimStart().length;
    if (line === "exit-address-family") while (open.at(-1)?.text.startsWith("address-family") === false) open.pop();
    if (line === "exit-address-family") open.pop();
    if (line === "" || empty.test(line)) continue;
    const isFamily = (one: string) => one.startsWith("address-family ");
    // The lines of an address family may have its own indentation.
    while (
      open.length > 0 &&
      (open.at(-1)!.indent > indent || (open.at(-1)!.indent === indent && (!isFamily(open.at(-1)!.text) || isFamily(line) || indent === 0)))
    )
      open.pop();
    // A line that no known section has at the left margin: a section of its own if indented lines follow, otherwise perhaps a line of the section above.
    if (doubtful !== undefined && indent > 0) unknown.add(doubtful);
    else if (doubtful !== undefined) flat = true;
    doubtful = undefined;
    if (indent === 0 && !isTopLine(line)) {
      if (line.startsWith("address-family ")) flat = true;
      else doubtful = line;
    } else if (indent > 0 && open.length === 0) flat = true;
    lines.push({ sections: open.map((one) => one.text), text: line, at, indent });
    open.push({ text: line, indent });
  }
  return { lines, flat: flat || doubtful !== undefined, unknown };
}

/** Other lines at the top level. */
const topLine = /^(?:frr|service|password|enable|banner|username|agentx|zebra|evpn|mpls|mac|table|allow-|domainname)/;

function isTopLine(line: string): boolean {
  return opener.test(line) || liveLine.test(line) || topLine.test(line);
}

/** Settings with one value that `no` would remove together with others: the new value replaces the old one. */
const replaced = /^(neighbor \S+ (?:remote-as|peer-group) )/;

/** Returns the commands that remove lines from a running FRR, the innermost lines first. Lines that a new line replaces are left out. */
export function removalCommands({ removed, added }: Pick<FrrChange, "removed" | "added">): readonly (readonly string[])[] {
  const gone = new Set(removed.filter(({ sections, text }) => sections.length === 0 && removable.test(text)).map(({ text }) => text));
  const headers = new Set(removed.flatMap(({ sections }) => (sections.length > 0 ? [sections.join("\n")] : [])));
  const kept = new Set(
    added.flatMap(
      ({ sections, text }) =>
        replaced
          .exec(text)
          ?.slice(1)
          .map((stem) => keyOf({ sections, text: stem })) ?? [],
    ),
  );
  return [...removed].reverse().flatMap(({ sections, text }) => {
    // FRR would take a line of an unknown section as one of the section before.
    if (sections.length > 0 && (gone.has(sections[0]!) || !opener.test(sections[0]!))) return [];
    const stem = replaced.exec(text)?.[1];
    if (stem !== undefined && kept.has(keyOf({ sections, text: stem }))) return [];
    // A section that stays empty, such as an interface, has no `no`.
    if (opener.test(text) && sections.length === 0 && !removable.test(text)) return [];
    if (headers.has(keyOf({ sections, text })) && text.startsWith("address-family")) return [];
    return [[...sections, text.startsWith("no ") ? text.slice(3) : `no ${text}`]];
  });
}

/** Returns the commands that add lines to a running FRR, in their order. */
export function additionCommands(added: readonly FrrLine[]): readonly (readonly string[])[] {
  return added.map(({ sections, text }) => [...sections, text]);
}

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
