import { createReadStream } from "node:fs";
import { chmod, chown, mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import { readTar, type TarEntry } from "../../../files/tar/tar-reader.ts";
import { Budget, unpackLimits } from "../containers/archive/budget.ts";
import { unpackLayer } from "../containers/store/unpack-layer.ts";
import { idRange } from "../machine/idmap.ts";
import { checkOverlay } from "../vm-images/check-overlay.ts";
import { checkOverlayData, findQemuImg } from "../vm-images/qemu-img.ts";
import type { DiskBase } from "./disk-base.ts";
import { machineDisk, machineFolder } from "./pack-disk.ts";

/** The user of the hypervisor inside a node (native/supervisor/vm.h). */
const machineUser = 1000;

interface UnpackOptions {
  readonly node: string;
  /** The tar archive, whose digest was checked. */
  readonly archive: string;
  /** The directory of the node's disk, which is made. */
  readonly disk: string;
  readonly base: DiskBase;
  /** Maximum bytes of all files. */
  readonly maxBytes: number;
  /** The image directory, which has qemu-img. */
  readonly images: string;
  /** A directory for links and checks, which is made and removed. */
  readonly work: string;
}

/**
 * Makes a node's disk of an archive that anybody may have written: nothing outside the disk is written or read, and the overlays of a virtual machine refer to
 * nothing but its image. Throws ArchiveError.
 */
export async function unpackDisk(options: UnpackOptions): Promise<void> {
  const { disk, base, archive } = options;
  const idBase = process.getuid?.() === 0 ? idRange.base : undefined;
  const own = async (path: string, user = 0): Promise<void> => {
    if (idBase !== undefined) await chown(path, idBase + user, idBase + user);
  };
  const upper = join(disk, "upper");
  for (const directory of [disk, upper, join(disk, "work")]) {
    await mkdir(directory, { mode: 0o755 });
    await own(directory);
  }
  const limits = { ...unpackLimits, bytes: options.maxBytes, hint: "the disk of the node has a limit: attributes and templates set it" };
  if (base.kind === "files") {
    const stream = createReadStream(archive, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>;
    await unpackLayer(stream, { root: upper, lower: base.image.layers, idBase, budget: new Budget(limits) });
    return;
  }
  const folder = join(upper, machineFolder);
  await mkdir(folder, { mode: 0o700 });
  await own(folder, machineUser);
  await mkdir(options.work, { mode: 0o711 });
  try {
    await unpackMachine(options, folder, new Budget(limits));
    for (const index of base.backing.keys()) {
      const path = join(folder, `disk${index}.qcow2`);
      await own(path, machineUser).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "ENOENT") throw error;
      });
    }
  } finally {
    await rm(options.work, { recursive: true, force: true });
  }
}

async function unpackMachine({ node, archive, base, work, images }: UnpackOptions, folder: string, budget: Budget): Promise<void> {
  const qemuImg = await findQemuImg(images, join(work, "libraries"));
  const seen = new Set<string>();
  for await (const entry of readTar(createReadStream(archive, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>)) {
    budget.spendEntry();
    const { index, name } = placeOf(entry, node);
    const backing = base.backing[index];
    if (backing === undefined) throw unsafe(`node ${node}: ${name}: image ${base.image.name} has no disk ${index}`);
    if (seen.has(name)) throw unsafe(`node ${node}: ${name} is in the archive twice`);
    seen.add(name);
    // Checked in a directory where qemu-img, as another user, may read it.
    const draft = join(work, name);
    await write(entry, draft, budget);
    const what = `node ${node}: ${name}`;
    await using file = await open(draft, "r");
    const head = Buffer.alloc(64 * 1024);
    const { bytesRead } = await file.read(head, 0, head.length, 0);
    checkOverlay(what, head.subarray(0, bytesRead), (await file.stat()).size, backing);
    if (qemuImg.user !== undefined) await chown(draft, qemuImg.user, qemuImg.user);
    await checkOverlayData(qemuImg, work, { what, file: name }, { bytes: 1 });
    await rename(draft, join(folder, name));
    await chmod(join(folder, name), 0o600);
  }
}

function placeOf({ name, type }: TarEntry, node: string): { readonly index: number; readonly name: string } {
  const [folder, file = "", ...rest] = name.split("/");
  const isDisk = folder === machineFolder && rest.length === 0 && machineDisk.test(file) && (type === "0" || type === "\0");
  if (!isDisk) throw unsafe(`node ${node}: ${JSON.stringify(name.slice(0, 200))} is not a disk of a virtual machine`);
  return { index: Number(file.charAt("disk".length)), name: file };
}

async function write(entry: TarEntry, path: string, budget: Budget): Promise<void> {
  await using file = await open(path, "wx", 0o600);
  for await (const chunk of entry.data()) {
    budget.spendBytes(chunk.length);
    for (let at = 0; at < chunk.length; ) at += (await file.write(chunk.subarray(at))).bytesWritten;
  }
}

function unsafe(message: string): ArchiveError {
  return new ArchiveError("unsafe_archive", message, "export the disks again with labwright export");
}
