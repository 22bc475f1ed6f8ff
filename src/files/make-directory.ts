import { mkdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";

/**
 * Makes a directory and those above it that are missing, all with this mode; one that is there is left as it is. Node's own mkdir with `recursive`
 * would never come back where a file system takes no directories and says ENOENT, as /proc does. Throws the system's errors, with their path.
 */
export async function makeDirectory(path: string, mode: number): Promise<void> {
  // It would be the working directory, which nobody has named.
  if (path === "") throw new Error("the name of the directory is empty");
  const missing: string[] = [];
  for (let at = resolve(path); !(await isDirectory(at)); at = dirname(at)) missing.push(at);
  for (const directory of missing.reverse()) {
    await mkdir(directory, { mode }).catch(async (error: NodeJS.ErrnoException) => {
      // Somebody else may have made it meanwhile.
      if (error.code !== "EEXIST" || !(await isDirectory(directory))) throw error;
    });
  }
}

/** False where there is nothing. Something else is in the way of a directory: its mkdir tells. */
async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT" && dirname(path) !== path) return false;
    throw error;
  }
}
