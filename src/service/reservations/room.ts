/*
 * Decisions about room that labs and reservations share. Pure. Times: ms since the epoch.
 */

export const roomResources = ["memory", "nodes"] as const;
export type RoomResource = (typeof roomResources)[number];

/** Labs of a user, or a reservation. Memory: MiB. */
export interface Use {
  readonly user: string;
  readonly memory: number;
  readonly nodes: number;
  /** Infinity: no end is known. */
  readonly until: number;
}

export interface Held extends Use {
  readonly from: number;
}

export interface Shared {
  readonly labs: readonly Use[];
  readonly held: readonly Held[];
}

/** A time in which labs and reservations need more than there is. */
export interface Shortage {
  readonly resource: RoomResource;
  readonly from: number;
  /** undefined: no end is known. */
  readonly until: number | undefined;
  readonly needed: number;
  readonly limit: number;
}

/** Returns how much of a resource users need at a moment. A reservation is for all labs of its user together, so a user needs the larger of both. */
export function neededAt(at: number, { labs, held }: Shared, resource: RoomResource): number {
  const sums = new Map<string, { labs: number; held: number }>();
  const of = (user: string) => {
    const known = sums.get(user) ?? { labs: 0, held: 0 };
    sums.set(user, known);
    return known;
  };
  for (const use of labs) if (use.until > at) of(use.user).labs += use[resource];
  for (const use of held) if (use.from <= at && use.until > at) of(use.user).held += use[resource];
  return [...sums.values()].reduce((sum, user) => sum + Math.max(user.labs, user.held), 0);
}

/** Returns the memory that users have reserved at a moment and their labs do not use, MiB, by user. */
export function unusedMemory(at: number, { labs, held }: Shared): ReadonlyMap<string, number> {
  const unused = new Map<string, number>();
  for (const use of held) if (use.from <= at && use.until > at) unused.set(use.user, (unused.get(use.user) ?? 0) + use.memory);
  for (const use of labs) if (use.until > at && unused.has(use.user)) unused.set(use.user, unused.get(use.user)! - use.memory);
  return new Map([...unused].filter(([, memory]) => memory > 0));
}

/**
 * Returns the first time between two moments in which more is needed than `limit`. The need rises only where a reservation begins.
 * @param counts whether a moment counts. Absent: all do
 */
export function firstShortage(
  shared: Shared,
  resource: RoomResource,
  {
    from,
    until,
    limit,
    counts = () => true,
  }: { readonly from: number; readonly until: number; readonly limit: number; readonly counts?: (at: number) => boolean },
): Shortage | undefined {
  const begins = shared.held.flatMap((use) => (use.from > from && use.from < until ? [use.from] : []));
  const at = [from, ...begins].sort((a, b) => a - b).find((moment) => counts(moment) && neededAt(moment, shared, resource) > limit);
  if (at === undefined) return undefined;
  const ends = [...shared.labs, ...shared.held].flatMap((use) => (use.until > at && Number.isFinite(use.until) ? [use.until] : []));
  const free = ends.sort((a, b) => a - b).find((moment) => neededAt(moment, shared, resource) <= limit);
  return { resource, from: at, until: free, needed: neededAt(at, shared, resource), limit };
}
