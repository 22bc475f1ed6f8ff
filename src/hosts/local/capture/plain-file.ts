import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/**
 * Opens a file for reading in a directory in which a lab's root may create anything. Follows no link, opens only plain files without a second hard
 * link, and never blocks. @returns `undefined` if the file is missing or is something else
 */
export async function openPlainFile(path: string): Promise<FileHandle | undefined> {
  let file: FileHandle;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (["ENOENT", "ELOOP", "EISDIR", "ENXIO", "ENODEV"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
  try {
    const stats = await file.stat();
    // No link: the file was removed. Two links: it may belong to another directory.
    if (stats.isFile() && stats.nlink <= 1) return file;
  } catch (error) {
    await file.close();
    throw error;
  }
  await file.close();
  return undefined;
}

/**
 * Returns the beginning of such a file as text, its owner, and when it was written, ms since 1970.
 * @param most maximum bytes to read
 */
export async function readPlainFile(
  path: string,
  most: number,
): Promise<{ readonly text: string; readonly writtenAt: number; readonly owner: number } | undefined> {
  await using file = await openPlainFile(path);
  if (file === undefined) return undefined;
  const { mtimeMs, uid } = await file.stat();
  const buffer = Buffer.alloc(most);
  let length = 0;
  for (let read = -1; read !== 0 && length < most; length += read) read = (await file.read(buffer, length, most - length)).bytesRead;
  return { text: buffer.toString("utf8", 0, length), writtenAt: mtimeMs, owner: uid };
}
