import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import { lockImages } from "../containers/store/store-lock.ts";
import { findVmImages } from "../images/vm-images.ts";

/** Returns the labs that use an image. */
export type UsersOf = (name: string) => readonly string[];

/**
 * Removes an image of a virtual machine. The disks of nodes are based on it, so it must have no users.
 * @throws ArchiveError in_use with the labs that use it
 */
export async function removeVmImage(directory: string, name: string, usersOf: UsersOf): Promise<void> {
  await using _lock = await lockImages(directory);
  const users = usersOf(name);
  if (users.length > 0)
    throw new ArchiveError(
      "in_use",
      `image ${name} is used by ${users.join(", ")}, whose disks are based on it`,
      "destroy these labs or give their nodes another image first",
    );
  await removeDirectory(directory, name);
}

/**
 * Removes the images that `labwright image add` made and no lab uses. Returns their names and bytes. Directories that somebody made by hand stay.
 * @param isDry changes nothing
 */
export async function pruneVmImages(
  directory: string,
  usersOf: UsersOf,
  isDry: boolean,
): Promise<{ readonly images: readonly string[]; readonly bytes: number }> {
  const { images } = await findVmImages(directory);
  const unused = images.filter(({ name, vm }) => vm?.from !== undefined && usersOf(name).length === 0);
  if (unused.length > 0 && !isDry) {
    await using _lock = await lockImages(directory);
    for (const { name } of unused) await removeDirectory(directory, name);
  }
  return { images: unused.map(({ name }) => name), bytes: unused.reduce((sum, { size }) => sum + size, 0) };
}

/** Renamed first: half of an image must not be one. */
async function removeDirectory(directory: string, name: string): Promise<void> {
  const gone = join(directory, `.gone-${process.pid}`);
  await rm(gone, { recursive: true, force: true });
  await rename(join(directory, name), gone);
  await rm(gone, { recursive: true });
}
