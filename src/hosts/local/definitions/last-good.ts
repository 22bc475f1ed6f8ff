import { link, readdir, readFile, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { ifThere } from "../../../files/if-there.ts";
import type { Spares } from "../../../files/spare-files.ts";
import { writeFileAtomic } from "../../../files/write-file-atomic.ts";
import { exists } from "../files/file-exists.ts";
import { checkDefinition } from "./check-definition.ts";
import type { LabDefinition } from "./definition.ts";

/** Returns the path of the copy beside lab.json: the last definition that was written or read without an error. */
export function lastGoodFile(directory: string): string {
  return join(directory, "lab.last.json");
}

/** Reads the last good definition; `undefined` if it is missing or unreadable. */
export async function readLastGood(directory: string, id: string): Promise<LabDefinition | undefined> {
  try {
    return checkDefinition(JSON.parse(await readFile(lastGoodFile(directory), "utf8")), id);
  } catch (error) {
    // The failure of lab.json itself is reported by the caller.
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined || code === "ENOENT") return undefined;
    throw error;
  }
}

/** Writes the copy, unless it has this text already. */
export async function writeLastGood(directory: string, text: string): Promise<void> {
  const file = lastGoodFile(directory);
  const before = await ifThere(readFile(file, "utf8"));
  if (before !== text) await writeFileAtomic(file, text, 0o600);
}

/**
 * Returns the reserve for a write of lab.json that ends something on a full disk: the blocks of the copy, which is about as large as lab.json, then a spare
 * file. lab.json gets the copy's name too, so that a good copy exists at every moment.
 */
export function endingReserve(directory: string, spares: Spares | undefined): Spares {
  const copy = lastGoodFile(directory);
  return {
    take: async (path, bytes) => {
      const { blocks, ino } = await stat(copy).catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return { blocks: 0, ino: undefined };
        throw error;
      });
      // After a crash between these steps, both names may belong to one file.
      const isSame = (await stat(join(directory, "lab.json"))).ino === ino;
      if (isSame || blocks * blockBytes < bytes) return (await spares?.take(path, bytes)) ?? false;
      await rename(copy, path);
      await link(join(directory, "lab.json"), copy);
      return true;
    },
  };
}

/** The unit of `blocks` in stat. */
const blockBytes = 512;

/**
 * Renames files that would be lost when a last good definition replaces lab.json: the unreadable lab.json, and disks of nodes that the definition does not
 * have. Under their new names no sweep removes them.
 */
export async function setAside(directory: string, { nodes, disks = {} }: LabDefinition): Promise<void> {
  const file = join(directory, "lab.json");
  // A hard link needs no space on a full disk. The next write of lab.json makes a new file.
  if (await exists(file)) {
    await link(file, `${file}.unreadable-${Math.round((await stat(file)).mtimeMs)}`).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
  const known = new Set([...nodes.map(({ id }) => id), ...Object.values(disks)].map(String));
  for (const name of await namesIn(join(directory, "nodes"))) {
    if (!/^\d+$/.test(name) || known.has(name)) continue;
    const disk = join(directory, "nodes", name);
    await rename(disk, `${disk}.unknown-${Date.now()}`);
  }
}

/** Returns whether the directory has neither a definition nor files of nodes: the service died while it made the lab. */
export async function holdsNothing(directory: string): Promise<boolean> {
  for (const name of await namesIn(directory)) {
    if (name !== "nodes" && name !== "captures") return false;
    if ((await namesIn(join(directory, name))).length > 0) return false;
  }
  return true;
}

async function namesIn(directory: string): Promise<readonly string[]> {
  return readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
}
