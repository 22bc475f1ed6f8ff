import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { exists } from "../files/file-exists.ts";
import { isUuid } from "../machine/uuid.ts";

/** The labs in the state directory. Labs of which only disks were kept do not count. */
export interface LabsOnDisk {
  /** Number of labs, also of those in quarantine. */
  readonly labs: number;
  /** The paths of parts of other machines' labs. */
  readonly parts: readonly string[];
}

export async function labsOnDisk(state: string): Promise<LabsOnDisk> {
  const labs = join(state, "labs");
  const names = await readdir(labs).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  let count = 0;
  const parts: string[] = [];
  for (const name of names.filter(isUuid)) {
    const keptOnly = (await exists(join(labs, name, "kept.json"))) && !(await exists(join(labs, name, "lab.json")));
    if (keptOnly) continue;
    const path = await pathOf(join(labs, name));
    if (path?.startsWith("/~") === true) parts.push(path);
    else count++;
  }
  return { labs: count, parts };
}

/** Returns the path of a lab; undefined: no definition of it can be read. */
async function pathOf(folder: string): Promise<string | undefined> {
  return (await pathIn(join(folder, "lab.json"))) ?? (await pathIn(join(folder, "lab.last.json")));
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
