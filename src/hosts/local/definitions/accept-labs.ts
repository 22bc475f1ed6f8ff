import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Trash } from "../files/trash.ts";
import { isUuid } from "../machine/uuid.ts";
import type { LabDefinition } from "./definition.ts";
import { type DefinitionStore, inQuarantine, missingFile } from "./definition-store.ts";
import { holdsNothing, readLastGood } from "./last-good.ts";
import { claimsByPath, type PathClaim, type RecordedLab, rightfulLab } from "./path-claims.ts";
import { sweepLab } from "./sweep-lab.ts";

/** The inputs of a start. */
interface Start {
  readonly store: DefinitionStore;
  /** The directory of all labs. */
  readonly labs: string;
  readonly trash: Trash;
  readonly warn: (text: string) => void;
  readonly recorded: ReadonlyMap<string, RecordedLab>;
}

/** Makes the labs on disk known to the store, decides which lab each path belongs to, and removes what crashes left. Warns of labs in quarantine. */
export async function acceptLabs(start: Start): Promise<void> {
  const claims: PathClaim[] = [];
  for (const id of (await readdir(start.labs)).sort()) {
    try {
      claims.push(...(await claimsOf(start, id)));
    } catch (error) {
      start.warn((error as Error).message);
      claims.push(...claimsOfLost(id, undefined, start.recorded));
    }
  }
  for (const [path, some] of claimsByPath(claims)) {
    const winner = rightfulLab(some, start.recorded.get(path));
    for (const claim of some) {
      try {
        await decide(start, claim, winner);
      } catch (error) {
        start.warn((error as Error).message);
      }
    }
  }
}

/** Returns the claims of one directory. Opens it if it is a kept lab, and removes it if it holds nothing. */
async function claimsOf({ store, trash, warn, recorded }: Start, id: string): Promise<readonly PathClaim[]> {
  const directory = store.directory(id);
  if (isUuid(id)) await removeDrafts(directory);
  const definition = await store.read(id);
  if (definition !== undefined) {
    const lastPath = (await readLastGood(directory, id))?.path;
    return [{ id, path: definition.path, definition, ...(lastPath !== undefined && { lastPath }) }];
  }
  if ((await store.kept.open(id)) || !isUuid(id)) return [];
  if (await holdsNothing(directory)) {
    await trash.discard(directory);
    return [];
  }
  warn(missingFile(store.file(id)));
  return claimsOfLost(id, await readLastGood(directory, id), recorded);
}

/** Accepts the lab if the path is its own; otherwise it is in quarantine, and nothing of it is removed. */
async function decide(
  { store, trash, warn, recorded }: Start,
  { id, path, definition }: PathClaim,
  winner: string | undefined,
): Promise<void> {
  if (definition === undefined) return;
  if (id !== winner) {
    const of = winner === undefined ? `lab ${recorded.get(path)?.id}, which the service has a record of` : store.file(winner);
    warn(`${store.file(id)} claims the path ${path} of ${of}: ${inQuarantine}`);
    return;
  }
  // A last good definition may be older than the disks.
  if (!store.isStandIn(id)) await sweepLab(store.directory(id), definition, trash);
  await store.accept(definition);
}

/** Returns the claims of a directory without a valid definition: the path of its last good copy, and the paths of its records. */
function claimsOfLost(id: string, last: LabDefinition | undefined, recorded: ReadonlyMap<string, RecordedLab>): readonly PathClaim[] {
  const paths = new Set([...recorded].flatMap(([path, lab]) => (lab.id === id ? [path] : [])));
  if (last !== undefined) paths.add(last.path);
  return [...paths].map((path) => ({ id, path, lastPath: path }));
}

/** Removes drafts of files whose writing a crash interrupted. Nothing else writes here during the start. */
async function removeDrafts(directory: string): Promise<void> {
  const drafts = (await readdir(directory)).filter((name) => name.endsWith(".tmp"));
  await Promise.all(drafts.map((name) => rm(join(directory, name), { force: true })));
}
