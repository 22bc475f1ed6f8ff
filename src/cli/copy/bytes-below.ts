import type { Dirent } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";

/** Files that are counted: a larger folder is copied without a percentage. */
const maxFiles = 100_000;

/** Returns the bytes of the files in a folder, or of a file; undefined for a folder with very many files or one that cannot be read. */
export async function bytesBelow(path: string): Promise<number | undefined> {
  let files = 0;
  const folders = [path];
  let bytes = 0;
  try {
    if (!(await lstat(path)).isDirectory()) return (await lstat(path)).size;
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      const entries: readonly Dirent[] = await readdir(folder, { withFileTypes: true });
      files += entries.length;
      if (files > maxFiles) return undefined;
      const here = folder;
      folders.push(...entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(here, name)));
      const sizes = entries.filter((entry) => entry.isFile()).map(async ({ name }) => (await lstat(join(here, name))).size);
      for (const size of await Promise.all(sizes)) bytes += size;
    }
    return bytes;
  } catch {
    // The copy itself reports what cannot be read.
    return undefined;
  }
}
