import { readdir } from "node:fs/promises";
import { dirname, resolve, sep } from "node:path";
import { makeDirectory } from "../../files/make-directory.ts";
import { writeFileAtomic } from "../../files/write-file-atomic.ts";
import { UsageError } from "../command/usage-error.ts";
import { fileFailure } from "./file-failure.ts";

/** Throws UsageError unless the folder is missing or empty. */
export async function mustBeEmpty(folder: string): Promise<void> {
  try {
    if ((await readdir(folder)).length > 0)
      throw new UsageError(`${folder} is not empty, and nothing in it is overwritten`, "name a new folder with --output, or remove it");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw fileFailure(error, folder);
  }
}

/** Writes texts by relative path into a folder, which is created. A path out of the folder is an error. */
export async function writeFolder(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  const root = resolve(folder);
  try {
    await makeDirectory(root, 0o777);
    for (const [path, text] of Object.entries(files)) {
      const target = resolve(root, path);
      if (!target.startsWith(root.endsWith(sep) ? root : root + sep))
        throw new UsageError(`${path} leads out of ${folder}`, "give the node or file another name");
      await makeDirectory(dirname(target), 0o777);
      await writeFileAtomic(target, text, 0o666 & ~process.umask());
    }
  } catch (error) {
    throw fileFailure(error, folder);
  }
}
