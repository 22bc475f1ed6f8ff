import { readdirSync, realpathSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { LocalPaths } from "./paths.ts";

/**
 * The ids that files of labs have on disk: root file systems and node disks belong to this range, for all labs; nothing else of the machine owns
 * files in it. A running lab has a range of its own (native/holder/id-range.c) and sees the files in that one. If the kernel or a file
 * system cannot do that, labs run as this range.
 */
export const idRange = { base: 1_000_000, count: 65_536 } as const;

/** The directory in which running labs lock their ranges; all services of the machine share it. */
const rangeLocks = "/run/labwright-ids";

/** A range of its own for a lab, and the directories whose files it must see in that range. */
export interface OwnRange {
  readonly locks: string;
  /** Absolute; none is below another. */
  readonly files: readonly string[];
}

export function ownRange({ state, images, vmImages }: Pick<LocalPaths, "state" | "images" | "vmImages">): OwnRange {
  const all = [state, images, vmImages, ...linkedFrom(images), ...linkedFrom(vmImages)].map(outermostTraversable);
  const files = all.filter((one, at) => !all.some((other, place) => (other === one ? place < at : `${one}/`.startsWith(`${other}/`))));
  return { locks: rangeLocks, files };
}

/** The directories that links in a directory of images point to: an administrator may keep images on another disk. */
function linkedFrom(images: string): readonly string[] {
  if (statSync(images, { throwIfNoEntry: false }) === undefined) return [];
  const links = readdirSync(images, { withFileTypes: true }).filter((entry) => entry.isSymbolicLink());
  const targets = links.map(({ name }) => join(images, name)).filter((link) => statSync(link, { throwIfNoEntry: false }) !== undefined);
  return targets.map((link) => dirname(realpathSync(link)));
}

/**
 * The outermost directory on the way that only the range on disk may pass (makeTraversableDirectory): images are often in the state directory of
 * another service.
 * The directory itself if there is none.
 */
function outermostTraversable(directory: string): string {
  let outermost = directory;
  for (let at = dirname(directory); at !== dirname(at); at = dirname(at)) {
    const found = statSync(at, { throwIfNoEntry: false });
    if (found?.uid === 0 && found.gid === idRange.base && (found.mode & 0o001) === 0) outermost = at;
  }
  return outermost;
}
