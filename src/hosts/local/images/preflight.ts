import { access, constants, stat } from "node:fs/promises";
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
  return [...holder, ...images, ...(await impassable([paths.state, paths.images, paths.vmImages]))];
}

/**
 * Returns a problem, with its remedy, for each of these directories and their parents that labs cannot traverse on the way to images and disks, outermost
 * first. Only labs of a service that runs as root have ids of their own; other labs can traverse what their user can.
 */
export async function impassable(directories: readonly string[]): Promise<readonly string[]> {
  if (process.getuid?.() !== 0) return [];
  const all = new Set(directories.flatMap(withParents).sort());
  const closed: string[] = [];
  for (const directory of all) {
    // The service makes a missing directory later.
    const found = await ifThere(stat(directory));
    if (found === undefined || (found.mode & 0o001) !== 0 || (found.gid === idRange.base && (found.mode & 0o010) !== 0)) continue;
    const mode = (found.mode & 0o7777).toString(8).padStart(4, "0");
    closed.push(
      `nodes cannot reach their disks and images: their ids may not pass ${directory} (mode ${mode}); chmod o+x ${directory}, or move the state directory`,
    );
  }
  return closed;
}

function withParents(directory: string): string[] {
  return dirname(directory) === directory ? [directory] : [...withParents(dirname(directory)), directory];
}
