import type { LabDefinition } from "./definition.ts";

/** The lab at a path in the service's records. */
export interface RecordedLab {
  readonly id: string;
  readonly owner: string;
}

/** One directory's claim to a path. */
export interface PathClaim {
  readonly id: string;
  readonly path: string;
  /** Omitted if only the claim is readable. */
  readonly definition?: LabDefinition;
  /** The path in the last good copy, if there is one. */
  readonly lastPath?: string;
}

/**
 * Returns the id of the lab that a path belongs to: the recorded lab if it is on disk; else the lab that had the path before, then a lab without a copy, and
 * last a lab whose path was changed by hand. A path with a record of another owner belongs to nobody but the recorded lab.
 */
export function rightfulLab(claims: readonly PathClaim[], recorded: RecordedLab | undefined): string | undefined {
  const known = claims.find(({ id }) => id === recorded?.id);
  if (known !== undefined) return known.id;
  const rank = ({ path, lastPath }: PathClaim) => (lastPath === path ? 0 : lastPath === undefined ? 1 : 2);
  const allowed = claims.filter(({ definition }) => recorded === undefined || definition?.owner === recorded.owner);
  return [...allowed].sort((a, b) => rank(a) - rank(b) || (a.id < b.id ? -1 : 1))[0]?.id;
}

export function claimsByPath(claims: readonly PathClaim[]): ReadonlyMap<string, readonly PathClaim[]> {
  const found = new Map<string, PathClaim[]>();
  for (const claim of claims) found.set(claim.path, [...(found.get(claim.path) ?? []), claim]);
  return found;
}
