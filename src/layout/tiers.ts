/** Tiers of a part of a graph: index 0 is the lowest one. */
export interface Tiers {
  /** The members of each tier, without the end nodes. */
  readonly rows: readonly (readonly number[])[];
  /** The end nodes, which have one neighbour, by that neighbour. */
  readonly ends: ReadonlyMap<number, readonly number[]>;
}

/** More links than this share, within tiers, do not make a hierarchy. */
const maxFlatShare = 0.2;

type Neighbours = readonly (readonly number[])[];
/** Names of members: of leaf1 and leaf2, which are in one tier, both are "leaf". */
type Stems = readonly string[];

/**
 * Returns the tiers of a hierarchy such as spines, leaves and hosts; undefined for other graphs, such as rings and meshes. End nodes hang below their
 * neighbour. The lowest tier has the members with fewer links than each of their neighbours; each further tier is farther from it, and not wider.
 * Members with the same stem of their names are in the same tier.
 */
export function tiersOf(part: readonly number[], neighbours: Neighbours, stems: Stems = []): Tiers | undefined {
  const ends = endsOf(part, neighbours);
  const hanging = new Set([...ends.values()].flat());
  const core = part.filter((at) => !hanging.has(at));
  const within = new Map(core.map((at) => [at, neighbours[at]!.filter((other) => !hanging.has(other))]));
  const degree = (at: number) => within.get(at)!.length;
  const lowest = core.filter((at) => degree(at) > 0 && within.get(at)!.every((other) => degree(other) > degree(at)));
  if (lowest.length === 0) return undefined;
  const rows = withStems(distances(lowest, within), stems);
  const tier = new Map(rows.flatMap((row, at) => row.map((member) => [member, at] as const)));
  if (tier.size < core.length || rows.length < 2) return undefined;
  const links = core.flatMap((at) => within.get(at)!.map((other) => tier.get(at) === tier.get(other)));
  const isFlat = links.filter(Boolean).length > links.length * maxFlatShare;
  const widens = rows.some((row, at) => at > 0 && row.length > rows[at - 1]!.length);
  return isFlat || widens ? undefined : { rows: withoutInner(rows, within), ends };
}

/** Moves each member to the tier in which most members with its stem are. */
function withStems(rows: readonly (readonly number[])[], stems: Stems): readonly (readonly number[])[] {
  const counts = new Map<string, number[]>();
  for (const [tier, row] of rows.entries()) {
    for (const at of row) {
      const stem = stems[at] ?? "";
      const count = counts.get(stem) ?? rows.map(() => 0);
      count[tier]!++;
      counts.set(stem, count);
    }
  }
  const next: number[][] = rows.map(() => []);
  for (const [tier, row] of rows.entries()) {
    for (const at of row) {
      const stem = stems[at] ?? "";
      const count = stem === "" ? [] : counts.get(stem)!;
      const most = Math.max(...count, 0);
      next[most > (count[tier] ?? 0) ? count.indexOf(most) : tier]!.push(at);
    }
  }
  return next.filter((row) => row.length > 0);
}

/** Moves the members that are linked only within the lowest tier, such as servers with two uplinks, into a tier below it. */
function withoutInner(
  rows: readonly (readonly number[])[],
  within: ReadonlyMap<number, readonly number[]>,
): readonly (readonly number[])[] {
  const [lowest = [], ...others] = rows;
  const own = new Set(lowest);
  const isInner = (at: number) => within.get(at)!.every((other) => own.has(other) && within.get(other)!.length > within.get(at)!.length);
  const inner = lowest.filter(isInner);
  return inner.length === 0 ? rows : [inner, lowest.filter((at) => !isInner(at)), ...others];
}

/** Returns the tiers of any graph: the distances from its member with the most links, which is the highest tier. */
export function forcedTiers(part: readonly number[], neighbours: Neighbours, stems: Stems = []): Tiers {
  const found = tiersOf(part, neighbours, stems);
  if (found !== undefined) return found;
  const top = part.reduce((best, at) => (neighbours[at]!.length > neighbours[best]!.length ? at : best), part[0]!);
  const within = new Map(part.map((at) => [at, neighbours[at]!]));
  return { rows: distances([top], within).toReversed(), ends: new Map() };
}

/** Returns the members with one neighbour, by that neighbour. Of two that are only linked to each other, one is not an end node. */
function endsOf(part: readonly number[], neighbours: Neighbours): ReadonlyMap<number, readonly number[]> {
  const ends = new Map<number, number[]>();
  for (const at of part) {
    const [only, second] = neighbours[at]!;
    if (only === undefined || second !== undefined || neighbours[only]!.length === 1) continue;
    ends.set(only, [...(ends.get(only) ?? []), at]);
  }
  return ends;
}

/** Returns the members by their distance from the first ones. */
function distances(first: readonly number[], within: ReadonlyMap<number, readonly number[]>): readonly (readonly number[])[] {
  const seen = new Set(first);
  const rows: (readonly number[])[] = [];
  for (let row: readonly number[] = first; row.length > 0; ) {
    rows.push(row);
    const next: number[] = [];
    for (const at of row) {
      for (const other of within.get(at)!) {
        if (seen.has(other)) continue;
        seen.add(other);
        next.push(other);
      }
    }
    row = next;
  }
  return rows;
}
