import { rm } from "node:fs/promises";
import { join } from "node:path";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import { imageRecords } from "../images/images.ts";
import { imageUsers } from "./image-users.ts";
import { removeUnusedLayers } from "./store/layers.ts";
import { lockImages } from "./store/store-lock.ts";

/**
 * Removes a container image, and its layers if no other image has them and no node has them mounted.
 * @param state the state directory, whose labs are checked
 * @throws ArchiveError not_found; in_use with the labs that use it
 */
export async function removeImage(directory: string, state: string, name: string): Promise<void> {
  await using _lock = await lockImages(directory);
  const entries = [...(await imageRecords(directory))].filter(([, record]) => record.container !== undefined && record.name === name);
  if (entries.length === 0) throw new ArchiveError("not_found", `there is no container image ${name}`, "labwright image list shows them");
  const users = (await imageUsers(state)).of(name);
  if (users.length > 0)
    throw new ArchiveError(
      "in_use",
      `image ${name} is used by ${users.join(", ")}`,
      "destroy these labs or give their nodes another image first",
    );
  for (const [entry] of entries) await rm(join(directory, entry), { recursive: true });
  await removeUnusedLayers(directory);
}
