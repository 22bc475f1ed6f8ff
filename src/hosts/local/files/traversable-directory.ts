import { chmod, chown } from "node:fs/promises";
import { makeDirectory } from "../../../files/make-directory.ts";
import { idRange } from "../machine/idmap.ts";

/**
 * Creates a directory that holders of labs must traverse to reach images and node disks. Only the owner may list or write it. If the service
 * is root, only the labs' group may enter it besides. If labs run as the own user, its mode is 0700.
 */
export async function makeTraversableDirectory(directory: string): Promise<void> {
  await makeDirectory(directory, 0o700);
  if (process.getuid?.() !== 0) return;
  await chown(directory, 0, idRange.base);
  await chmod(directory, 0o710);
}
