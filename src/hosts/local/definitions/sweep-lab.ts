import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Trash } from "../files/trash.ts";
import type { LabDefinition } from "./definition.ts";

/**
 * Finishes a change that a crash interrupted: removes the disks of nodes that the lab no longer has, and kept.json. Only for the start of the service, when
 * nothing else works in the directory.
 */
export async function sweepLab(directory: string, { nodes, disks = {} }: LabDefinition, trash: Trash): Promise<void> {
  await rm(join(directory, "kept.json"), { force: true });
  const known = new Set([...nodes.map(({ id }) => id), ...Object.values(disks)].map(String));
  await discardFrom(join(directory, "nodes"), (name) => /^\d+$/.test(name) && !known.has(name), trash);
}

/** Removes everything but the disks and kept.json of a removed lab whose disks are kept. Finishes this after a crash too. */
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
