import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { exists } from "../files/file-exists.ts";
import { isUuid } from "../machine/uuid.ts";

/** Numbers of labs in the state directory. Labs of which only disks were kept do not count. */
export interface LabsOnDisk {
  /** Also labs in quarantine. */
  readonly labs: number;
  /** Parts of other machines' labs. */
  readonly parts: number;
}

export async function labsOnDisk(state: string): Promise<LabsOnDisk> {
  const labs = join(state, "labs");
  const names = await readdir(labs).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const count = { labs: 0, parts: 0 };
  for (const name of names.filter(isUuid)) {
    const keptOnly = (await exists(join(labs, name, "kept.json"))) && !(await exists(join(labs, name, "lab.json")));
    if (!keptOnly) count[(await isPart(join(labs, name))) ? "parts" : "labs"]++;
  }
  return count;
}

/** A lab of which no definition can be read counts as a lab. */
async function isPart(folder: string): Promise<boolean> {
  for (const name of ["lab.json", "lab.last.json"]) {
    const path = await pathIn(join(folder, name));
    if (path !== undefined) return path.startsWith("/~");
  }
  return false;
}

/** Returns the path of a definition's lab; undefined: it is missing or damaged. The host reports that itself. */
async function pathIn(file: string): Promise<string | undefined> {
  try {
    const { path } = JSON.parse(await readFile(file, "utf8")) as { path?: unknown };
    return typeof path === "string" ? path : undefined;
  } catch {
    return undefined;
  }
}
