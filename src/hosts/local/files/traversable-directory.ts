import { chmod, chown } from "node:fs/promises";
import { makeDirectory } from "../../../files/make-directory.ts";
import { idRange } from "../machine/idmap.ts";

/**
 * Makes a directory of ours that holders of labs must pass through to reach images and node disks: nobody but us may list or write
 * it, and as root the labs' group (and nobody else) may enter. Where labs run as the own user, it is 0700.
 */
export async function makeTraversableDirectory(directory: string): Promise<void> {
  await makeDirectory(directory, 0o700);
  if (process.getuid?.() !== 0) return;
  await chown(directory, 0, idRange.base);
  await chmod(directory, 0o710);
}
