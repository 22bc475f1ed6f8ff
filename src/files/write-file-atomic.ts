import { randomBytes } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { Spares } from "./spare-files.ts";

/**
 * Writes the file so that after a crash it has the old or the new text, never a part: a temporary file, fsync, rename, fsync of the directory.
 * @param mode permissions of the file, independent of the umask
 * @param spares for a write that must succeed on a full disk
 */
export async function writeFileAtomic(file: string, text: string, mode: number, spares?: Spares): Promise<void> {
  const temporary = `${file}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    await writeDraft(temporary, text, "wx", mode).catch(async (error: NodeJS.ErrnoException) => {
      if (spares === undefined || (error.code !== "ENOSPC" && error.code !== "EDQUOT")) throw error;
      await rm(temporary, { force: true });
      if (!(await spares.take(temporary, Buffer.byteLength(text)))) throw error;
      await writeDraft(temporary, text, "r+", mode);
    });
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  const directory = await open(dirname(file), "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

async function writeDraft(file: string, text: string, flags: "wx" | "r+", mode: number): Promise<void> {
  const handle = await open(file, flags, mode);
  try {
    await handle.chmod(mode);
    await handle.writeFile(text);
    await handle.truncate(Buffer.byteLength(text));
    await handle.sync();
  } finally {
    await handle.close();
  }
}
