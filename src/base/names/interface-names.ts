/** Names of a node's interfaces by index, from 0, and back. */
export interface InterfaceNaming {
  /** Returns the first name of the interface. */
  name(index: number): string;
  /** Returns the index of the interface with this name, or undefined if no interface has it. Long forms such as GigabitEthernet0/0 for Gi0/0 count only if a format has them. */
  index(name: string): number | undefined;
}

/** Between the formats of an ethFormat: an interface has a name in each of them. */
export const formatSeparator = "|";

/**
 * The naming of an ethFormat, as in EVE-NG templates:
 *
 * - one brace, the first number counts up: `eth{0}` → eth0, eth1; `ens{2}` → ens2; `Ge0/0/{0-5}` → Ge0/0/0, Ge0/0/1 …
 * - two braces, slot and port: `Gi{0}/{0-4}` → Gi0/0 … Gi0/3, Gi1/0 (the number after the dash is the number of ports per slot);
 * without a dash all interfaces are in the first slot
 * - fixed names of the first interfaces before a comma: `Mgmt1,Eth{1}` → Mgmt1, Eth1, Eth2
 * - empty: `e{0}`; without a brace the number is appended: `e` → e0
 * - steps: `Ethernet{0+4}` → Ethernet0, Ethernet4, Ethernet8
 * - other names behind `|`, in upper or lower case: `e1-{1}|ethernet-1/{1}` → e1-1, which links may also call ethernet-1/1
 */
export function interfaceNaming(ethFormat: string): InterfaceNaming {
  const known = namings.get(ethFormat);
  if (known !== undefined) return known;
  const naming = parse(ethFormat);
  // A host has a few dozen formats. The bound keeps a hostile caller of the preview from filling memory.
  if (namings.size < 1000) namings.set(ethFormat, naming);
  return naming;
}

/** Returns the first `count` names. */
export function interfaceNames(ethFormat: string, count: number): readonly string[] {
  const naming = interfaceNaming(ethFormat);
  return Array.from({ length: count }, (_, index) => naming.name(index));
}

/** Returns the name that `alias` abbreviates or spells out, if any. Only for hints: an alias is never accepted. */
export function interfaceAlias(ethFormat: string, alias: string, maxInterfaces: number): string | undefined {
  const wanted = plainName(alias);
  const count = Math.min(maxInterfaces, 256);
  return interfaceNames(ethFormat, count).find((name) => plainName(name) === wanted);
}

const namings = new Map<string, InterfaceNaming>();

function parse(ethFormat: string): InterfaceNaming {
  const [first = "", ...others] = ethFormat.split(formatSeparator);
  const own = parseFormat(first);
  if (others.length === 0) return own;
  const more = others.map((format) => parseFormat(format.toLowerCase()));
  return {
    name: own.name,
    index: (wanted) => {
      const exact = own.index(wanted);
      if (exact !== undefined) return exact;
      const lower = wanted.toLowerCase();
      for (const other of more) {
        const found = other.index(lower);
        if (found !== undefined) return found;
      }
      return undefined;
    },
  };
}

function parseFormat(ethFormat: string): InterfaceNaming {
  const parts = ethFormat.split(",").map((part) => part.trim());
  const fixed = parts.slice(0, -1);
  const pattern = pieces(parts.at(-1) || "e{0}");
  const fixedIndex = new Map(fixed.map((name, index) => [name, index]));

  const name = (index: number): string => {
    const given = fixed[index];
    if (given !== undefined) return given;
    const i = index - fixed.length;
    if (pattern.slot === undefined) return `${pattern.before}${i * pattern.step + pattern.first}${pattern.after}`;
    const slot = pattern.slot + Math.floor(i / pattern.ports);
    const port = (pattern.ports === Number.POSITIVE_INFINITY ? i : i % pattern.ports) + pattern.first;
    return `${pattern.before}${slot}${pattern.between}${port}${pattern.after}`;
  };
  return {
    name,
    index: (wanted) => {
      const given = fixedIndex.get(wanted);
      if (given !== undefined) return given;
      const match = pattern.read.exec(wanted);
      if (match === null) return undefined;
      const port = (Number(match.at(-1)) - pattern.first) / pattern.step;
      const slot = pattern.slot === undefined ? 0 : Number(match[1]) - pattern.slot;
      if (port < 0 || slot < 0 || port >= pattern.ports || (slot > 0 && pattern.ports === Number.POSITIVE_INFINITY)) return undefined;
      const index = fixed.length + port + (slot === 0 ? 0 : slot * pattern.ports);
      // Also refuses leading zeros (eth01) and names that collide with a fixed name.
      return Number.isSafeInteger(index) && name(index) === wanted ? index : undefined;
    },
  };
}

interface Pattern {
  readonly before: string;
  readonly slot: number | undefined;
  readonly between: string;
  readonly first: number;
  /** From one number to the next. */
  readonly step: number;
  /** Ports of one slot. */
  readonly ports: number;
  readonly after: string;
  readonly read: RegExp;
}

function pieces(text: string): Pattern {
  const braces = [...text.matchAll(/\{(\d+)(?:-(\d+)|\+([1-9]\d?))?\}/g)].slice(0, 2);
  const [one, two] = braces;
  if (one === undefined) return pieces(`${text}{0}`);
  const before = text.slice(0, one.index);
  if (two === undefined) {
    const after = text.slice(one.index + one[0].length);
    const read = new RegExp(`^${literal(before)}(\\d+)${literal(after)}$`);
    const step = Number(one[3] ?? 1);
    return { before, slot: undefined, between: "", first: Number(one[1]), step, ports: Number.POSITIVE_INFINITY, after, read };
  }
  const between = text.slice(one.index + one[0].length, two.index);
  const after = text.slice(two.index + two[0].length);
  const ports = Number(two[2] ?? 0) || Number.POSITIVE_INFINITY;
  const read = new RegExp(`^${literal(before)}(\\d+)${literal(between)}(\\d+)${literal(after)}$`);
  return { before, slot: Number(one[1]), between, first: Number(two[1]), step: 1, ports, after, read };
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}

const longNames: readonly (readonly [RegExp, string])[] = [
  [/^(ethernet|eth|et)(?=\d)/, "e"],
  [/^(fastethernet|fast|fa)(?=\d)/, "f"],
  [/^(gigabitethernet|gigabit|gig|gi|ge)-?(?=\d)/, "g"],
  [/^(tengigabitethernet|tengigabit|tengige|ten|te|xe)-?(?=\d)/, "t"],
  [/^(management|mgmteth|mgmt|ma)(?=\d)/, "m"],
];

function plainName(name: string): string {
  const lower = name.toLowerCase().replaceAll(" ", "");
  for (const [long, short] of longNames) if (long.test(lower)) return lower.replace(long, short);
  return lower;
}
