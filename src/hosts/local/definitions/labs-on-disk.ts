import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { exists } from "../files/file-exists.ts";
import { isUuid } from "../machine/uuid.ts";

/**
 * Returns the number of labs in the state directory. Labs in quarantine count. Labs of which only disks were kept do not, and neither do parts of labs that are
 * spread over machines.
 */
export async function labsOnDisk(state: string): Promise<number> {
  const labs = join(state, "labs");
  const names = await readdir(labs).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  let count = 0;
  for (const name of names.filter(isUuid)) {
    const keptOnly = (await exists(join(labs, name, "kept.json"))) && !(await exists(join(labs, name, "lab.json")));
    if (!keptOnly && !(await isPart(join(labs, name, "lab.json")))) count++;
  }
  return count;
}

/** A lab whose definition cannot be read counts as a lab. */
async function isPart(file: string): Promise<boolean> {
  try {
    return (JSON.parse(await readFile(file, "utf8")) as { path?: unknown }).path?.toString().startsWith("/~") === true;
  } catch {
    return false;
  }
}
