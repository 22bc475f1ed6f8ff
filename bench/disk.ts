import { chown, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { idRange } from "../src/hosts/local/machine/idmap.ts";

/** Creates one empty disk directory per node, owned by the lab's root. */
export async function chownDisk(dir: string, count: number): Promise<readonly string[]> {
  const disks = Array.from({ length: count }, (_, i) => join(dir, "disks", String(i)));
  await mkdir(join(dir, "disks"));
  await Promise.all(
    disks.map(async (disk) => {
      await mkdir(disk);
      await chown(disk, idRange.base, idRange.base);
    }),
  );
  return disks;
}
