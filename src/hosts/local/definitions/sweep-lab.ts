import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Trash } from "../files/trash.ts";
import type { LabDefinition } from "./definition.ts";

/**
 * Finishes what a crash cut off in a lab's directory: the disks of nodes that the lab has not any more, and what it was when its disks
 * were kept, go. Only at the start of the service: nobody else works there.
 */
export async function sweepLab(directory: string, { nodes, disks = {} }: LabDefinition, trash: Trash): Promise<void> {
  await rm(join(directory, "kept.json"), { force: true });
  const known = new Set([...nodes.map(({ id }) => id), ...Object.values(disks)].map(String));
  await discardFrom(join(directory, "nodes"), (name) => /^\d+$/.test(name) && !known.has(name), trash);
}

/** Of a lab that is removed and whose disks are kept: all else goes. Also what is left of that after a crash. */
export async function sweepKeptLab(directory: string, trash: Trash): Promise<void> {
  await discardFrom(directory, (name) => name !== "kept.json" && name !== "nodes", trash);
}

async function discardFrom(directory: string, goes: (name: string) => boolean, trash: Trash): Promise<void> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  for (const name of names.filter(goes)) await trash.discard(join(directory, name));
}
