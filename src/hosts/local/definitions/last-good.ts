import { link, readdir, readFile, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Spares } from "../../../files/spare-files.ts";
import { writeFileAtomic } from "../../../files/write-file-atomic.ts";
import { exists } from "../files/file-exists.ts";
import { checkDefinition } from "./check-definition.ts";
import type { LabDefinition } from "./definition.ts";

/** Beside each lab.json: the last definition that was written, or read without a fault. */
export function lastGoodFile(directory: string): string {
  return join(directory, "lab.last.json");
}

/** The last good definition; undefined if there is none that reads. */
export async function readLastGood(directory: string, id: string): Promise<LabDefinition | undefined> {
  try {
    return checkDefinition(JSON.parse(await readFile(lastGoodFile(directory), "utf8")), id);
  } catch (error) {
    // A copy is only asked for when lab.json fails, which is what is reported.
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined || code === "ENOENT") return undefined;
    throw error;
  }
}

/** Writes the copy, unless it is there already. */
export async function writeLastGood(directory: string, text: string): Promise<void> {
  const file = lastGoodFile(directory);
  const before = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (before !== text) await writeFileAtomic(file, text, 0o600);
}

/**
 * What an ending write of lab.json takes on a full disk: the blocks of the copy, which is about as large however large the lab is, then a spare file. lab.json
 * gets the copy's name too, so that there is a good one at every moment.
 */
export function endingReserve(directory: string, spares: Spares | undefined): Spares {
  const copy = lastGoodFile(directory);
  return {
    take: async (path, bytes) => {
      const { blocks, ino } = await stat(copy).catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return { blocks: 0, ino: undefined };
        throw error;
      });
      // A crash between these two steps and the write's last one leaves one file with two names.
      const isSame = (await stat(join(directory, "lab.json"))).ino === ino;
      if (isSame || blocks * blockBytes < bytes) return (await spares?.take(path, bytes)) ?? false;
      await rename(copy, path);
      await link(join(directory, "lab.json"), copy);
      return true;
    },
  };
}

/** The unit of stat's blocks. */
const blockBytes = 512;

/**
 * Keeps what a last good definition would lose when it takes the place of lab.json: an unreadable lab.json, and disks of nodes that it does not have. Their
 * names then say so, and no sweep takes them.
 */
export async function setAside(directory: string, { nodes, disks = {} }: LabDefinition): Promise<void> {
  const file = join(directory, "lab.json");
  // A second name needs no room on a full disk; what is written next gets a file of its own.
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

/** Whether a lab's directory holds neither a definition nor anything of a node: it was being made when the service died. */
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
