import { parallel } from "../../../base/parallel.ts";
import type { EveAccount } from "../account/account.ts";
import { listOf, numberOf, recordOf, textOf } from "../api/answer.ts";
import { encodePath, snapshotsFolder } from "../read/lab-path.ts";

export interface ListedLab {
  /** The service's path: /courses/bgp-1 */
  readonly path: string;
  readonly written: number | undefined;
}

/** Labs of the host, as far as they could be listed. */
export interface LabListing {
  readonly labs: readonly ListedLab[];
  /** false: the host has too many folders, or answers too slowly. */
  readonly isComplete: boolean;
}

/** Limits of a walk over the folders of a host. */
const maxFolders = 2_000;
const maxWalkMs = 20_000;

/** The walk that runs for each account: its callers share it, also after one of them has given up. */
const walks = new WeakMap<EveAccount, Promise<LabListing>>();

/**
 * Lists the labs of the host that the user can see, folder by folder, without snapshots.
 * @param fresh starts a walk of its own, for a change that must see each lab that exists now
 */
export function listLabs(account: EveAccount, { fresh = false }: { readonly fresh?: boolean } = {}): Promise<LabListing> {
  const running = walks.get(account);
  if (running !== undefined && !fresh) return running;
  if (fresh) return walkFolders(account);
  const walk = walkFolders(account).finally(() => walks.delete(account));
  walks.set(account, walk);
  return walk;
}

async function walkFolders(account: EveAccount): Promise<LabListing> {
  const end = performance.now() + maxWalkMs;
  const labs: ListedLab[] = [];
  const seen = new Set<string>();
  let isComplete = true;
  let level = ["/"];
  while (level.length > 0) {
    const within = level.slice(0, maxFolders - seen.size);
    isComplete &&= within.length === level.length;
    for (const folder of within) seen.add(folder);
    const contents = await parallel(within, 6, async (folder) => {
      if (performance.now() <= end) return readFolder(account, folder);
      isComplete = false;
      return { folders: [], labs: [] };
    });
    for (const one of contents) for (const lab of one.labs) labs.push(lab);
    level = [...new Set(contents.flatMap((one) => one.folders))].filter((folder) => !seen.has(folder));
    if (seen.size >= maxFolders || performance.now() > end) {
      isComplete &&= level.length === 0;
      break;
    }
  }
  return { labs: labs.sort((a, b) => (a.path < b.path ? -1 : 1)), isComplete };
}

async function readFolder(account: EveAccount, folder: string): Promise<{ readonly folders: string[]; readonly labs: ListedLab[] }> {
  const answer = await account.call({ path: `/api/folders${folder === "/" ? "/" : encodePath(folder)}`, read: true });
  // A folder that was removed meanwhile counts as empty.
  if (answer.status === 404 || answer.status === 400) return { folders: [], labs: [] };
  const { folders, labs } = recordOf(answer.data);
  const doing = `list the labs in ${folder}`;
  return {
    folders: listOf(folders, doing).flatMap(([, one]) => {
      const { name, path } = recordOf(one);
      const text = textOf(path);
      return name === ".." || text === undefined || text === snapshotsFolder ? [] : [text];
    }),
    labs: listOf(labs, doing).flatMap(([, one]) => {
      const { path, umtime } = recordOf(one);
      const text = textOf(path);
      return text?.endsWith(".unl") ? [{ path: text.slice(0, -4).replace(/^\/+/, "/"), written: numberOf(umtime) }] : [];
    }),
  };
}
