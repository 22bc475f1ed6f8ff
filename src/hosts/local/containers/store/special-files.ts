import { tarArchive } from "../../../../files/tar/tar-writer.ts";
import { runOnMachine } from "../../machine/machine.ts";
import type { ImagePath } from "./layer-tree.ts";

export interface SpecialFile {
  readonly kind: "whiteout" | "fifo";
  /** Path of the file. Its parent is a real directory of the layer, and the path does not exist yet. */
  readonly path: ImagePath;
  readonly mode: number;
  /** Outside ids. */
  readonly uid: number;
  readonly gid: number;
}

/**
 * Creates the special files of a layer with one run of GNU tar, because Node can make neither devices nor FIFOs. Every user may make a whiteout,
 * which is a device 0, 0.
 */
export async function makeSpecialFiles(root: string, files: readonly SpecialFile[], idBase: number | undefined): Promise<void> {
  if (files.length === 0) return;
  const archive = tarArchive(
    files.map(({ kind, path, mode, uid, gid }) => ({
      name: path,
      mode,
      ...(idBase === undefined ? {} : { uid, gid }),
      ...(kind === "fifo" ? { type: "6" } : { type: "3", device: [0, 0] as const }),
    })),
  );
  const owner = idBase === undefined ? "--no-same-owner" : "--same-owner";
  const argv = ["tar", "-x", "-f", "-", "-C", root, "--numeric-owner", owner, "--same-permissions", "--keep-old-files"];
  const { code, stderr } = await runOnMachine(argv, archive);
  if (code !== 0) throw new Error(`whiteouts and fifos could not be created: ${stderr.trim().split("\n").slice(0, 3).join("; ")}`);
}
