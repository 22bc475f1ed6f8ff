import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { command } from "../programs/command.ts";
import type { Recipe } from "./recipes.ts";

/** Beside the tree of an image: the layer with the tree as a disk (own-kernel/own-kernel-spawn.ts). */
const layer = "disk";

function diskFile(entry: string): string {
  return join("images", `${entry}.squashfs`);
}

export function hasDisk(directory: string, entry: string): boolean {
  return existsSync(join(directory, entry, layer, diskFile(entry)));
}

/**
 * Makes the tree of the image as a read-only file system, with the owners as nodes see them. Not compressed: without hardware virtualisation, a node would
 * spend most of its boot on unpacking.
 */
export async function makeDisk(directory: string, entry: string, modes: Recipe["modes"]): Promise<void> {
  const work = await mkdtemp(join(directory, ".disk-"));
  try {
    await mkdir(join(work, "images"));
    const owned = modes.filter(({ uid, gid }) => uid !== undefined || gid !== undefined);
    await command([
      ...["mksquashfs", join(directory, entry, "rootfs"), join(work, diskFile(entry))],
      ...["-all-root", "-no-xattrs", "-noI", "-noD", "-noF", "-noX", "-no-progress", "-quiet", "-mkfs-time", "0"],
      ...owned.flatMap(({ path, mode, uid, gid }) => ["-p", `${path.slice(1)} m ${mode.toString(8)} ${uid ?? 0} ${gid ?? 0}`]),
    ]);
    for (const path of ["", "images"]) await chmod(join(work, path), 0o755);
    await chmod(join(work, diskFile(entry)), 0o644);
    await rm(join(directory, entry, layer), { recursive: true, force: true });
    await rename(work, join(directory, entry, layer));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
