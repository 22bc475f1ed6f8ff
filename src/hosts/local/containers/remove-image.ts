import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import { imageRecords } from "../images/images.ts";
import { removeUnusedLayers } from "./layers.ts";
import { lockImages } from "./store-lock.ts";

/**
 * Removes a container image, and its layers if no other image has them and no node has them mounted.
 * @param state the state directory, whose labs are checked
 * @throws ArchiveError not_found; in_use with the labs that use it
 */
export async function removeImage(directory: string, state: string, name: string): Promise<void> {
  await using _lock = await lockImages(directory);
  const entries = [...(await imageRecords(directory))].filter(([, record]) => record.container !== undefined && record.name === name);
  if (entries.length === 0) throw new ArchiveError("not_found", `there is no container image ${name}`, "labwright image list shows them");
  const users = await labsWith(state, name);
  if (users.length > 0)
    throw new ArchiveError(
      "in_use",
      `image ${name} is used by ${users.join(", ")}`,
      "destroy these labs or give their nodes another image first",
    );
  for (const [entry] of entries) await rm(join(directory, entry), { recursive: true });
  await removeUnusedLayers(directory);
}

/** Returns the paths of the labs that have a node with this image, sorted. An unreadable definition may have one, so it counts. */
async function labsWith(state: string, image: string): Promise<readonly string[]> {
  const labs = join(state, "labs");
  const absent = (error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    throw error;
  };
  const found: string[] = [];
  for (const id of (await readdir(labs).catch(absent)) ?? []) {
    const text = await readFile(join(labs, id, "lab.json"), "utf8").catch(absent);
    if (text === undefined) continue;
    try {
      const { path, nodes } = JSON.parse(text) as { readonly path: string; readonly nodes: readonly { readonly image?: string }[] };
      if (nodes.some((node) => node.image === image)) found.push(path);
    } catch {
      // An unreadable definition may use the image: the removal is refused with this line.
      found.push(`${join(labs, id, "lab.json")}, which is unreadable`);
    }
  }
  return found.sort();
}
