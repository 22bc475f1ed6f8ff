import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/** A FIFO, a socket or a device where a plain file is expected. */
export class NotPlainError extends Error {
  constructor(path: string) {
    super(`${path} is not a plain file`);
    this.name = "NotPlainError";
  }
}

/** Opens a plain file for reading, also through links. Never blocks, unlike an open of a FIFO. Throws NotPlainError, and the errors of the file system. */
export async function openPlain(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY).catch((error: NodeJS.ErrnoException) => {
    // A socket, and a device without a driver.
    throw error.code === "ENXIO" || error.code === "ENODEV" ? new NotPlainError(path) : error;
  });
  try {
    const stats = await file.stat();
    if (stats.isDirectory()) throw Object.assign(new Error(`${path} is a folder`), { code: "EISDIR" });
    if (stats.isFile()) return file;
  } catch (error) {
    await file.close();
    throw error;
  }
  await file.close();
  throw new NotPlainError(path);
}

/** Returns the text of a plain file. Throws as openPlain. */
export async function readPlain(path: string): Promise<string> {
  await using file = await openPlain(path);
  return await file.readFile("utf8");
}
