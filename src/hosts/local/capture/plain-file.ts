import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/**
 * Opens a file for reading in a directory where a lab's root may plant anything: no link is followed, nothing but a plain file that has
 * no second name is opened, and nothing is waited for.
 * @returns undefined: not there, or something else
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
    // No name: it was removed. Two names: it may be a file from elsewhere.
    if (stats.isFile() && stats.nlink <= 1) return file;
  } catch (error) {
    await file.close();
    throw error;
  }
  await file.close();
  return undefined;
}

/**
 * The beginning of such a file as text, with when it was written, ms since 1970, and whose it is.
 * @param most bytes that are read; what comes after is left
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
