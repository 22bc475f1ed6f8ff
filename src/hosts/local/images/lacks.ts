import { access, constants, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { idRange } from "../machine/idmap.ts";
import type { LocalPaths } from "../machine/paths.ts";
import { findImages } from "./images.ts";

/** What keeps this host from running nodes, each with what to do about it; none where all is well. */
export async function hostLacks(paths: LocalPaths): Promise<readonly string[]> {
  const holder = await access(paths.holder, constants.X_OK).then(
    () => [],
    () => [`there is no lab holder at ${paths.holder}: labwright setup makes it`],
  );
  const images = (await findImages(paths.images)).length > 0 ? [] : [`there are no images in ${paths.images}: labwright setup makes them`];
  return [...holder, ...images, ...(await impassable([paths.state, paths.images, paths.vmImages]))];
}

/**
 * Directories at or above these that labs cannot pass on their way to images and disks, outermost first, each with what to do. As root
 * labs have ids of their own out here; without, they pass what their user passes.
 */
export async function impassable(directories: readonly string[]): Promise<readonly string[]> {
  if (process.getuid?.() !== 0) return [];
  const all = new Set(directories.flatMap(withParents).sort());
  const closed: string[] = [];
  for (const directory of all) {
    const found = await stat(directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined; // made later, by us
      throw error;
    });
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
