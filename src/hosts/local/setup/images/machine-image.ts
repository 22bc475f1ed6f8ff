import { lstat, mkdir, readdir, readFile, readlink, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { command } from "../programs/command.ts";
import { type CpioEntry, cpioArchive } from "./cpio.ts";
import type { IndexedFile } from "./file-index.ts";
import { type Modules, modprobeTables, moduleClosure } from "./kernel-modules.ts";
import type { Recipe } from "./recipes.ts";

/** The kernel, and the package that contains it. */
export function kernelOf(index: ReadonlyMap<string, IndexedFile>): IndexedFile {
  for (const [path, file] of index) if (/^\/boot\/vmlinuz-/.test(path)) return file;
  throw new Error("no package has a kernel");
}

/**
 * Converts the tree at `root` into a bootable image of a virtual machine: vmlinuz, initrd.gz with the tree and the modules, disk.raw with an empty
 * ext4 file system, and image.yaml with their names. docs/vm.md explains each file.
 */
export async function makeMachine(
  root: string,
  description: string,
  machine: NonNullable<Recipe["machine"]>,
  index: ReadonlyMap<string, IndexedFile>,
): Promise<void> {
  const tree = `${root}.tree`;
  await rename(root, tree);
  await mkdir(root);
  const modules = await moduleClosure(machine.modules, index);
  const loadable = await moduleClosure([...machine.modules, ...machine.loadable], index);
  const all = await moduleClosure([...machine.modules, ...machine.loadable, ...machine.onDemand], index);
  const entries = await entriesBelow(tree, "");
  entries.push({ path: "usr/lib/modules", mode: 0o040755, data: Buffer.alloc(0) });
  for (const { name, file } of all) entries.push({ path: `usr/lib/modules/${name}.ko`, mode: 0o100644, data: await readFile(file.source) });
  const orders = { order: modules, "loadable-order": loadable.filter(({ name }) => !modules.some((loaded) => loaded.name === name)) };
  for (const [name, some] of Object.entries(orders)) {
    entries.push({ path: `usr/lib/modules/${name}`, mode: 0o100644, data: Buffer.from(some.map((one) => `${one.name}\n`).join("")) });
  }
  entries.push(...(await moduleTables(all, index)));
  await writeFile(join(root, "initrd.gz"), await promisify(gzip)(cpioArchive(entries), { level: 9 }));
  await writeFile(join(root, "vmlinuz"), await readFile(kernelOf(index).source));
  // -E initializes everything now, so that the first mount has nothing to do.
  const made = ["mke2fs", "-q", "-t", "ext4", "-L", "labwright", "-E", "lazy_itable_init=0,lazy_journal_init=0", "-N", "4096"];
  await command([...made, join(root, "disk.raw"), `${machine.diskMb}M`]);
  const words = { description, kernel: "vmlinuz", initrd: "initrd.gz", "command-line": machine.commandLine };
  await writeFile(
    join(root, "image.yaml"),
    Object.entries(words)
      .map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`)
      .join(""),
  );
  await rm(tree, { recursive: true });
}

/** The tables of modprobe. The modules are in the folder above. */
async function moduleTables(modules: Modules, index: ReadonlyMap<string, IndexedFile>): Promise<readonly CpioEntry[]> {
  const [, release = ""] = /^\/usr\/lib\/modules\/([^/]+)\//.exec(modules[0]?.file.path ?? "") ?? [];
  const folder = `usr/lib/modules/${release}`;
  const tables = await modprobeTables(modules, index, ({ name }) => `../${name}.ko`);
  return [
    { path: folder, mode: 0o040755, data: Buffer.alloc(0) },
    ...Object.entries(tables).map(([name, text]) => ({ path: `${folder}/${name}`, mode: 0o100644, data: Buffer.from(text) })),
  ];
}

async function entriesBelow(tree: string, directory: string): Promise<CpioEntry[]> {
  const entries: CpioEntry[] = [];
  for (const name of (await readdir(join(tree, directory))).sort()) {
    const path = directory === "" ? name : `${directory}/${name}`;
    const { mode } = await lstat(join(tree, path));
    const type = mode & 0o170000;
    if (type === 0o040000) {
      entries.push({ path, mode, data: Buffer.alloc(0) }, ...(await entriesBelow(tree, path)));
    } else {
      const data = type === 0o120000 ? Buffer.from(await readlink(join(tree, path))) : await readFile(join(tree, path));
      entries.push({ path, mode, data });
    }
  }
  return entries;
}
