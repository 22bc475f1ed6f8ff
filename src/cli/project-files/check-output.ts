import { access, constants, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { UsageError } from "../command/usage-error.ts";
import { fileFailure } from "./file-failure.ts";

/** Throws a UsageError if a file cannot be written at this path, before work whose result it would get. */
export async function checkOutput(path: string): Promise<void> {
  const folder = dirname(path);
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (isFolder) throw new UsageError(`${path}: it is a folder`, "name a file");
  try {
    await access(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT")
      throw new UsageError(`${path}: there is no folder ${folder}`, `create it: mkdir -p ${folder}`);
    throw fileFailure(error, path);
  }
}
