import { realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { makeDirectory } from "../../files/make-directory.ts";
import { readPlain } from "../../files/read-plain-file.ts";
import { writeFileAtomic } from "../../files/write-file-atomic.ts";
import { UsageError } from "../command/usage-error.ts";
import { fileFailure } from "./file-failure.ts";

/**
 * Replaces a file atomically. Throws UsageError if its text is no longer `before`; `undefined` means that the file must not exist. Keeps the permissions of
 * the file. Replaces the target of a symbolic link. An error of the file system becomes a UsageError that names the file.
 */
export async function replaceFile(path: string, before: string | undefined, after: string): Promise<void> {
  try {
    await replace(path, before, after);
  } catch (error) {
    throw fileFailure(error, path);
  }
}

async function replace(path: string, before: string | undefined, after: string): Promise<void> {
  let target = path;
  let now: string | undefined;
  let mode = 0o666 & ~process.umask();
  try {
    target = await realpath(path);
    now = await readPlain(target);
    mode = (await stat(target)).mode & 0o7777;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  if (now !== before) throw new UsageError(`${path} has changed meanwhile and was not replaced`, "check the difference again");
  await makeDirectory(dirname(target), 0o777);
  await writeFileAtomic(target, after, mode);
}
