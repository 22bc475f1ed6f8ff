import { access, constants, lstat, realpath } from "node:fs/promises";
import { dirname } from "node:path";
import { ifThere } from "../../../files/if-there.ts";
import { idRange } from "../machine/idmap.ts";
import type { LocalPaths } from "../machine/paths.ts";
import { findImages } from "./images.ts";

/** Returns the problems that keep this host from running nodes, each with its remedy. */
export async function preflight(paths: LocalPaths): Promise<readonly string[]> {
  const holder = await access(paths.holder, constants.X_OK).then(
    () => [],
    () => [`there is no lab holder at ${paths.holder}: labwright setup makes it`],
  );
  const images = (await findImages(paths.images)).length > 0 ? [] : [`there are no images in ${paths.images}: labwright setup makes them`];
  return [...holder, ...images, ...(await impassable(passedBy(paths)))];
}

/** Returns the directories that labs must reach: those of disks and images, and those of the programs that run in their fabric. */
export function passedBy({ state, images, vmImages, shaper, tap }: LocalPaths): readonly string[] {
  return [state, images, vmImages, dirname(shaper), dirname(tap)];
}

/**
 * Returns a problem, with its remedy, for each of these directories and their parents that labs cannot traverse on the way to images and disks, outermost
 * first. Links are followed: labs must reach both their places and their targets. Only labs of a service that runs as root have ids of their own; other labs can traverse what their user can.
 */
export async function impassable(directories: readonly string[]): Promise<readonly string[]> {
  if (process.getuid?.() !== 0) return [];
  const places = new Map<string, string>();
  for (const directory of directories) {
    // A missing directory is made later.
    const target = (await ifThere(realpath(directory))) ?? directory;
    const why = target === directory ? "" : `, where ${directory} leads`;
    for (const parent of withParents(directory)) places.set(parent, "");
    for (const parent of withParents(target)) if (!places.has(parent)) places.set(parent, why);
  }
  const closed: string[] = [];
  for (const [directory, why] of [...places].sort(([a], [b]) => (a < b ? -1 : 1))) {
    // The service makes a missing directory later.
    const found = await ifThere(lstat(directory));
    if (
      found === undefined ||
      found.isSymbolicLink() ||
      (found.mode & 0o001) !== 0 ||
      (found.gid === idRange.base && (found.mode & 0o010) !== 0)
    )
      continue;
    const mode = (found.mode & 0o7777).toString(8).padStart(4, "0");
    closed.push(
      `nodes cannot reach their disks, images and programs: their ids may not pass ${directory} (mode ${mode})${why}; chmod o+x ${directory}, or move the state directory`,
    );
  }
  return closed;
}

function withParents(directory: string): string[] {
  return dirname(directory) === directory ? [directory] : [...withParents(dirname(directory)), directory];
}
