import { lstat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { compareNatural } from "../../../base/natural-order.ts";
import type { DiskCopy } from "../../host-disks.ts";
import type { DefinedNode } from "../definitions/definition.ts";
import { idRange } from "../machine/idmap.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { diskUsage } from "../watches/disk-usage.ts";
import { diskBase } from "./disk-base.ts";
import { hostError, machineFolder, packDisk } from "./pack-disk.ts";

/** Bytes that copies of disks must leave free. */
export const diskReserve = 256 * 1024 ** 2;
/** A file with holes is larger in an archive than on the disk: an archive may have this many times the bytes of its disk, and the constant more. */
const maxRatio = 4;
const spare = 64 * 1024 ** 2;
/** Limit for counting the size of disks, ms. */
const countMs = 60_000;

export interface ExportedLab {
  /** Nodes of the lab that do not run. */
  readonly nodes: readonly DefinedNode[];
  /** Directory of the lab. */
  readonly directory: string;
  readonly catalogue: Catalogue;
}

/**
 * Copies the disks of nodes into the files `0`, `1` … of a directory. Nodes that never ran have no disk. Throws host_error.
 * @returns the disks, in the order of the files
 */
export async function exportDisks({ nodes, directory, catalogue }: ExportedLab, to: string): Promise<readonly DiskCopy[]> {
  const found: { readonly node: DefinedNode; readonly upper: string }[] = [];
  for (const node of [...nodes].sort((a, b) => compareNatural(a.name, b.name))) {
    const upper = join(directory, "nodes", String(node.id), "upper");
    if (await isDirectory(upper)) found.push({ node, upper });
  }
  const used = await diskUsage(
    found.map(({ upper }) => upper),
    AbortSignal.timeout(countMs),
  );
  await refuseFull(
    to,
    [...used.values()].reduce((sum, bytes) => sum + bytes, 0),
  );
  const disks: DiskCopy[] = [];
  for (const { node, upper } of found) {
    const base = await diskBase(node, catalogue);
    if (base === undefined || (base.kind === "machine" && !(await isDirectory(join(upper, machineFolder))))) continue;
    const maxBytes = (used.get(upper) ?? 0) * maxRatio + spare;
    const idBase = process.getuid?.() === 0 ? idRange.base : undefined;
    const packed = await packDisk({ node: node.name, kind: base.kind, upper, idBase, maxBytes }, join(to, String(disks.length)));
    const { name, template, image, kernel } = node;
    const named = image ?? (base.kind === "machine" && kernel === undefined ? base.image.name : undefined);
    disks.push({
      ...{ node: name, kind: base.kind, template, base: base.base, ...packed },
      ...(named !== undefined && { image: named }),
      ...(kernel !== undefined && { kernel }),
    });
  }
  return disks;
}

/** Throws host_error if the disk of the directory has no room for so many bytes. */
export async function refuseFull(directory: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(directory);
  const room = Math.max(0, bavail * bsize - diskReserve);
  if (bytes <= room) return;
  throw hostError(
    `the disks need ${bytes} bytes, and ${room} are free on the machine: remove kept disks, captures or images, and try again`,
  );
}

async function isDirectory(path: string): Promise<boolean> {
  return lstat(path).then(
    (stats) => stats.isDirectory(),
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ENOTDIR") return false;
      throw error;
    },
  );
}
