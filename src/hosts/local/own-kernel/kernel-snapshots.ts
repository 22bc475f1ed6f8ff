import { createHash, randomUUID } from "node:crypto";
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { idRange, ownRange } from "../machine/idmap.ts";
import type { LocalPaths } from "../machine/paths.ts";
import type { NodeSpawn, Sandbox } from "../sandbox/sandbox.ts";
import { createSandbox, openSandbox } from "../sandbox/sandbox-client.ts";
import { supervisor } from "../templates/vm-template.ts";
import { supervisorFile } from "./own-kernel-spawn.ts";

/** Snapshots that are kept at most: each has the memory of a booted kernel, about 70 MB. */
const maxKept = 24;
/** Time for one boot on a busy machine, ms. */
const bootMs = 120_000;
/** Drafts that are older were left by a crash, ms. */
const abandonedMs = 600_000;
const prefix = "snapshot-";
const draftPrefix = ".snapshot-";
/** The one node of the sandbox in which a snapshot is made. */
const node = 1;

/**
 * Snapshots of virtual machines whose kernel has booted (native/supervisor/snapshot.c). Nodes with a kernel of their own start from them without hardware
 * virtualisation: an emulated processor needs about two seconds for a boot. A snapshot fits nodes with the same images, hypervisor and memory, and is used
 * until the machine boots again: then the processor may be another one. It is beside the images, so that the services of the machine share it.
 */
export class KernelSnapshots {
  readonly #paths: LocalPaths;
  readonly #warn: (text: string) => void;
  /** Key → the layer with the snapshot, `undefined` if it cannot be made. */
  readonly #layers = new Map<string, Promise<string | undefined>>();
  #bootId: Promise<string> | undefined;

  constructor(paths: LocalPaths, warn: (text: string) => void) {
    this.#paths = paths;
    this.#warn = warn;
  }

  /** Ends the sandboxes in which a service that crashed made snapshots. */
  async endAbandoned(): Promise<void> {
    for (const lab of (await readdir(this.#paths.run)).filter((name) => name.startsWith(prefix))) {
      const dir = join(this.#paths.run, lab);
      await (await openSandbox({ holder: this.#paths.holder, dir, lab }))?.destroy();
      await rm(dir, { recursive: true, force: true });
    }
  }

  /** Returns the spawn, with the snapshot from which its kernel starts. Makes a missing snapshot first. Returns other spawns as they are. */
  async prepare(spawn: NodeSpawn): Promise<NodeSpawn> {
    const settings = spawn.files.find(({ path }) => path === supervisorFile);
    if (settings === undefined || !/^memory /m.test(settings.text)) return spawn;
    const key = createHash("sha256")
      .update(JSON.stringify([spawn.lower, settings.text]))
      .digest("hex")
      .slice(0, 24);
    const making = this.#layers.get(key) ?? this.#layer(key, spawn);
    this.#layers.set(key, making);
    const layer = await making;
    return layer === undefined ? spawn : { ...spawn, lower: [...spawn.lower, layer] };
  }

  async #layer(key: string, spawn: NodeSpawn): Promise<string | undefined> {
    this.#bootId ??= readFile("/proc/sys/kernel/random/boot_id", "utf8");
    const boot = (await this.#bootId).slice(0, 8);
    const name = `${prefix}${boot}-${key}`;
    const layer = join(this.#paths.images, name, "rootfs");
    try {
      if (!(await isWhole(layer))) await this.#make(name, spawn);
      const now = new Date();
      await utimes(join(this.#paths.images, name), now, now);
      await this.#prune(`${prefix}${boot}-`);
      return layer;
    } catch (error) {
      this.#warn(`nodes with kernel: own boot, which takes longer, because a snapshot of their kernel could not be made: ${String(error)}`);
      return undefined;
    }
  }

  /** Boots a guest in a sandbox of its own, in which nothing of a lab is. */
  async #make(name: string, { lower, files, main }: NodeSpawn): Promise<void> {
    const { images, holder, run } = this.#paths;
    const draft = await mkdtemp(join(images, draftPrefix));
    const lab = `${prefix}${randomUUID()}`;
    const dir = join(run, lab);
    let sandbox: Sandbox | undefined;
    try {
      await chmod(draft, 0o711);
      await mkdir(dir, { mode: 0o700 });
      const ids = isRoot() ? { idMap: idRange, ownRange: ownRange(this.#paths) } : {};
      sandbox = await createSandbox({ holder, dir, lab, ...ids });
      const settings = files.filter(({ path }) => path === supervisorFile);
      const rest = { env: {}, boot: [], console: [supervisor, "snapshot"], ...(main === undefined ? {} : { main }) };
      await sandbox.spawn([{ id: node, hostname: "snapshot", lower, disk: join(draft, "disk"), files: settings, ...rest }]);
      await ended(sandbox);
      const saved = join(draft, "disk/upper/vm");
      if ((await stat(join(saved, "state")).catch(() => undefined))?.isFile() !== true)
        throw new Error((await sandbox.tail(node)).trim().slice(-500) || "its hypervisor saved no state");
      await this.#publish(draft, saved, name);
    } finally {
      await sandbox?.destroy();
      await rm(dir, { recursive: true, force: true });
      await rm(draft, { recursive: true, force: true });
    }
  }

  async #publish(draft: string, saved: string, name: string): Promise<void> {
    const directories = ["whole", "whole/rootfs", "whole/rootfs/snapshot"].map((path) => join(draft, path));
    for (const path of directories) await mkdir(path, { mode: 0o755 });
    for (const file of ["state", "memory"]) {
      await rename(join(saved, file), join(draft, "whole/rootfs/snapshot", file));
      await chmod(join(draft, "whole/rootfs/snapshot", file), 0o644);
    }
    if (isRoot()) for (const path of directories.slice(1)) await chown(path, idRange.base, idRange.base);
    await rename(join(draft, "whole"), join(this.#paths.images, name)).catch((error: NodeJS.ErrnoException) => {
      // Another service made the same one.
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  }

  /** Removes snapshots of earlier boots of the machine, those that were not used for longest, and drafts that a crash left. */
  async #prune(ofThisBoot: string): Promise<void> {
    const { images } = this.#paths;
    const names = (await readdir(images)).filter((name) => name.startsWith(prefix) || name.startsWith(draftPrefix));
    const found = await Promise.all(
      names.map(async (name) => ({ name, used: (await stat(join(images, name)).catch(() => undefined))?.mtimeMs ?? 0 })),
    );
    const abandoned = found.filter(({ name, used }) => name.startsWith(draftPrefix) && used < Date.now() - abandonedMs);
    const old = found.filter(({ name }) => name.startsWith(prefix) && !name.startsWith(ofThisBoot));
    const unused = found
      .filter(({ name }) => name.startsWith(ofThisBoot))
      .sort((a, b) => b.used - a.used)
      .slice(maxKept);
    for (const { name } of [...abandoned, ...old, ...unused]) await rm(join(images, name), { recursive: true, force: true });
  }
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

async function isWhole(layer: string): Promise<boolean> {
  return (await stat(join(layer, "snapshot/state")).catch(() => undefined))?.isFile() === true;
}

/** Lets the node boot, and waits until it has ended. Throws if it does not. */
async function ended(sandbox: Sandbox): Promise<void> {
  let end = (_problem?: string): void => undefined;
  const over = new Promise<string | undefined>((resolve) => {
    end = resolve;
  });
  const late = setTimeout(() => end(`it did not boot within ${bootMs / 1000} s`), bootMs);
  const watch = await sandbox.watch((state) => {
    if (state === "gone") end("its sandbox ended");
    else if (state.id === node && state.pid === 0) end();
  });
  try {
    await sandbox.release([node]);
    // It may have ended before.
    if ((await sandbox.info([node])).nodes.some(({ pid }) => pid === 0)) end();
    const problem = await over;
    if (problem !== undefined) throw new Error(problem);
  } finally {
    clearTimeout(late);
    watch.close();
  }
}
