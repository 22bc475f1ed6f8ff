import { chmod, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { command } from "../programs/command.ts";
import { type CpioEntry, cpioArchive } from "./cpio.ts";
import type { IndexedFile } from "./file-index.ts";
import { type Modules, modprobeTables, moduleClosure } from "./kernel-modules.ts";
import { kernelOf } from "./machine-image.ts";
import { unpackKernel } from "./unpack-kernel.ts";

/** The modules and the disk of nodes with a kernel of their own. */
export interface GuestKernel {
  /** Loaded at each boot. */
  readonly loaded: readonly string[];
  /** Folders of modules that the kernel finds when it needs them. */
  readonly folders: readonly string[];
  /** Folders below them that are left out: devices that the virtual machine does not have. */
  readonly without: readonly string[];
  /** Size of the node's own disk, MiB. */
  readonly diskMb: number;
}

/**
 * Converts the tree at `root`, with its program /init, into the files of the kernel: guest/kernel, guest/initrd, guest/modules.squashfs, and guest/disk.raw
 * with an empty ext4 file system.
 */
export async function makeGuestKernel(root: string, guest: GuestKernel, index: ReadonlyMap<string, IndexedFile>): Promise<void> {
  const init = await readFile(join(root, "init"));
  const tree = `${root}.tree`;
  await rename(root, tree);
  const out = join(root, "guest");
  await mkdir(out, { recursive: true });
  await unpackKernel(kernelOf(index).source, join(out, "kernel"));
  await writeFile(join(out, "initrd"), cpioArchive(await initrdEntries(init, guest, index)));
  await writeModules(join(tree, "modules"), guest, index);
  const packed = ["-all-root", "-no-xattrs", "-no-progress", "-quiet", "-mkfs-time", "0", "-comp", "lz4"];
  await command(["mksquashfs", join(tree, "modules"), join(out, "modules.squashfs"), ...packed]);
  const made = ["mke2fs", "-q", "-t", "ext4", "-L", "labwright", "-E", "lazy_itable_init=0,lazy_journal_init=0", "-J", "size=8"];
  await command([...made, join(out, "disk.raw"), `${guest.diskMb}M`]);
  for (const name of ["kernel", "initrd", "modules.squashfs", "disk.raw"]) await chmod(join(out, name), 0o644);
  await rm(tree, { recursive: true });
}

async function initrdEntries(init: Buffer, guest: GuestKernel, index: ReadonlyMap<string, IndexedFile>): Promise<readonly CpioEntry[]> {
  const modules = await moduleClosure(guest.loaded, index);
  const files = await Promise.all(
    modules.map(async ({ file }) => ({ path: `modules/${basename(file.path)}`, data: await readFile(file.source) })),
  );
  return [
    { path: "init", mode: 0o100755, data: init },
    { path: "modules", mode: 0o040755, data: Buffer.alloc(0) },
    ...files.map(({ path, data }) => ({ path, mode: 0o100644, data })),
    { path: "modules/order", mode: 0o100644, data: Buffer.from(files.map(({ path }) => `/${path}\n`).join("")) },
  ];
}

/** Writes the modules below usr/lib/modules/<release>, with the tables that modprobe reads. */
async function writeModules(tree: string, guest: GuestKernel, index: ReadonlyMap<string, IndexedFile>): Promise<void> {
  const names = [...index.keys()].flatMap((path) => {
    const [, below] = /^\/usr\/lib\/modules\/[^/]+\/kernel\/(.*)\.ko$/.exec(path) ?? [];
    const inside = (folder: string) => below?.startsWith(`${folder}/`) === true;
    return below !== undefined && guest.folders.some(inside) && !guest.without.some(inside) ? [basename(below).replaceAll("-", "_")] : [];
  });
  const modules = await moduleClosure([...new Set([...names, ...guest.loaded])], index);
  const [, release = ""] = /^\/usr\/lib\/modules\/([^/]+)\//.exec(modules[0]?.file.path ?? "") ?? [];
  const home = join(tree, "usr/lib/modules", release);
  const pathOf = ({ file }: Modules[number]) => file.path.slice(`/usr/lib/modules/${release}/`.length);
  for (const module of modules) {
    const path = pathOf(module);
    await mkdir(join(home, dirname(path)), { recursive: true });
    await writeFile(join(home, path), await readFile(module.file.source));
  }
  for (const [name, text] of Object.entries(await modprobeTables(modules, index, pathOf))) await writeFile(join(home, name), text);
}
