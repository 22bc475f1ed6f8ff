import { runOnMachine } from "../machine/machine.ts";
import { tarArchive } from "./archive/tar-writer.ts";
import type { ImagePath } from "./layer-tree.ts";

export interface SpecialFile {
  readonly kind: "whiteout" | "fifo";
  /** Its parent is a real directory of the layer, and nothing is at the path. */
  readonly path: ImagePath;
  readonly mode: number;
  /** Outside ids. */
  readonly uid: number;
  readonly gid: number;
}

/** Node makes neither devices nor fifos: one GNU tar makes all of a layer. Anybody may make a whiteout, which is a device 0, 0. */
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
  if (code !== 0) throw new Error(`whiteouts and fifos could not be made: ${stderr.trim().split("\n").slice(0, 3).join("; ")}`);
}
