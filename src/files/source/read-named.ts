import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { readFolder, readLimited, type SourceBytes, sourceLimits } from "./read-source.ts";

/**
 * Reads files and folders that a lab names, as far as they exist below its folder. Symbolic links are not followed, not even on the way to a file. Throws ArchiveError
 * too_large.
 * @param paths normal relative paths, without ".."
 */
export async function readNamed(folder: string, paths: readonly string[]): Promise<SourceBytes> {
  const files = new Map<string, Uint8Array>();
  const leftOut: { path: string; bytes: number }[] = [];
  let left: number = sourceLimits.bytes;
  for (const path of paths) {
    const type = await typeOf(folder, path);
    if (type === "folder") {
      const inner = await readFolder(join(folder, path));
      for (const [name, data] of inner.files) files.set(`${path}/${name}`, data);
      leftOut.push(...inner.leftOut.map((each) => ({ ...each, path: `${path}/${each.path}` })));
    } else if (type === "file" && !files.has(path)) {
      const found = await readLimited(join(folder, path), Math.min(left, sourceLimits.fileBytes));
      if ("bytes" in found) leftOut.push({ path, bytes: found.bytes });
      else files.set(path, found.data);
    }
    left = sourceLimits.bytes - [...files.values()].reduce((sum, { length }) => sum + length, 0);
    if (left <= 0) break;
  }
  return { files, leftOut };
}

/** Returns undefined for what does not exist, and for links, sockets and devices. */
async function typeOf(folder: string, path: string): Promise<"file" | "folder" | undefined> {
  const segments = path.split("/");
  for (const [index] of segments.entries()) {
    const stats = await lstat(join(folder, ...segments.slice(0, index + 1))).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ENOTDIR" || error.code === "ENAMETOOLONG") return undefined;
      throw error;
    });
    if (stats?.isFile() === true && index === segments.length - 1) return "file";
    if (stats?.isDirectory() !== true) return undefined;
  }
  return "folder";
}
