import { mkdir, readFile, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { writeFileAtomic } from "../../files/write-file-atomic.ts";
import { UsageError } from "../command/usage-error.ts";

/**
 * Writes a file so that a reader sees the old text or the new one, never half. `before` is what was read: a file that changed since is
 * left alone (UsageError). Its permissions stay; a link stays a link. `before` undefined: the file must not be there.
 */
export async function replaceFile(path: string, before: string | undefined, after: string): Promise<void> {
  let target = path;
  let now: string | undefined;
  let mode = 0o666 & ~process.umask();
  try {
    target = await realpath(path);
    now = await readFile(target, "utf8");
    mode = (await stat(target)).mode & 0o7777;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  if (now !== before) throw new UsageError(`${path} has changed meanwhile; it was left alone`, "look at the difference again");
  await mkdir(dirname(target), { recursive: true });
  await writeFileAtomic(target, after, mode);
}
