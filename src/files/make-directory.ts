import { mkdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";

/**
 * Makes a directory and its missing parents, all with this mode; an existing directory is left as it is. Node's own mkdir with `recursive` never
 * returns if a file system takes no directories and fails with ENOENT, as /proc does. Throws the system's errors, with their path.
 */
export async function makeDirectory(path: string, mode: number): Promise<void> {
  // The path would be the working directory, which no caller has named.
  if (path === "") throw new Error("the name of the directory is empty");
  const missing: string[] = [];
  for (let at = resolve(path); !(await isDirectory(at)); at = dirname(at)) missing.push(at);
  for (const directory of missing.reverse()) {
    await mkdir(directory, { mode }).catch(async (error: NodeJS.ErrnoException) => {
      // Another process may have made it meanwhile.
      if (error.code !== "EEXIST" || !(await isDirectory(directory))) throw error;
    });
  }
}

/** Whether something exists at the path. If it is not a directory, mkdir fails. */
async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT" && dirname(path) !== path) return false;
    throw error;
  }
}
