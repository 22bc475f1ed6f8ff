import { createHash } from "node:crypto";
import { chmod, chown, mkdir, mkdtemp, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { idRange } from "../machine/idmap.ts";
import type { NodeSpawn } from "../sandbox/sandbox.ts";
import { supervisorFile } from "./own-kernel-spawn.ts";

/** Snapshots that are kept at most: each has the memory of a booted kernel, about 70 MB. */
const maxKept = 24;
/** Time in which a snapshot must be made, on a busy machine, ms. Its sandbox needs some of it besides the boot. */
const makeMs = 150_000;
/** Time for which a node waits for its snapshot, ms. Then its kernel boots, and later nodes have the snapshot. */
const patienceMs = 60_000;
/** The time between a failure and the next attempt, ms: doubled at each failure. */
const retryMs = { first: 60_000, last: 1_800_000 };
/** Drafts that are older were left by a crash, and younger snapshots may be about to be used, ms. */
const abandonedMs = 600_000;
export const snapshotPrefix = "snapshot-";
const draftPrefix = ".snapshot-";

export interface SnapshotClock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Resolves after the time, or when the signal aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

/** Boots the guest that `spawn` describes, with its disk in the draft directory. Returns the directory, below the draft, that contains the files `state` and `memory`. */
export type SnapshotMaker = (draft: string, spawn: NodeSpawn, signal: AbortSignal) => Promise<string>;

export interface SnapshotSettings {
  /** The directory of the images. */
  readonly images: string;
  /** The machine's boot, as a short text. */
  readonly bootId: () => Promise<string>;
  readonly make: SnapshotMaker;
  readonly clock: SnapshotClock;
  readonly warn: (text: string) => void;
}

interface Failed {
  /** The next attempt is at this time or later. */
  readonly retryAt: number;
  readonly pauseMs: number;
}

/**
 * Snapshots of virtual machines whose kernel has booted (native/supervisor/snapshot.c). Nodes with a kernel of their own start from them without hardware
 * virtualisation: an emulated processor needs about two seconds for a boot. A snapshot fits nodes with the same images, hypervisor and memory, and is used
 * until the machine boots again: then the processor may be another one. It is beside the images, so that the services of the machine share it.
 */
export class KernelSnapshots {
  readonly #settings: SnapshotSettings;
  /** Snapshots that are made now. */
  readonly #making = new Map<string, Promise<string | undefined>>();
  readonly #failed = new Map<string, Failed>();

  constructor(settings: SnapshotSettings) {
    this.#settings = settings;
  }

  /**
   * Returns the spawn, with the snapshot from which its kernel starts. Makes a missing snapshot first, unless that has failed shortly before or takes too
   * long. Returns other spawns as they are.
   */
  async prepare(spawn: NodeSpawn): Promise<NodeSpawn> {
    const settings = spawn.files.find(({ path }) => path === supervisorFile);
    if (settings === undefined || !/^memory /m.test(settings.text)) return spawn;
    const key = createHash("sha256")
      .update(JSON.stringify([spawn.lower, settings.text]))
      .digest("hex")
      .slice(0, 24);
    const making = this.#making.get(key) ?? this.#layer(key, spawn).finally(() => this.#making.delete(key));
    this.#making.set(key, making);
    const layer = await this.#within(patienceMs, making);
    return layer === undefined ? spawn : { ...spawn, lower: [...spawn.lower, layer] };
  }

  /** Returns the directory of the layer that contains the snapshot. `undefined` if there is no snapshot, and none can be made now. */
  async #layer(key: string, spawn: NodeSpawn): Promise<string | undefined> {
    const { images, bootId, clock } = this.#settings;
    const failed = this.#failed.get(key);
    try {
      const ofThisBoot = `${snapshotPrefix}${await bootId()}-`;
      const path = join(images, `${ofThisBoot}${key}`);
      const layer = join(path, "rootfs");
      const exists = await isWhole(layer);
      if (!exists && failed !== undefined && clock.now() < failed.retryAt) return undefined;
      if (!exists) await this.#make(path, spawn);
      this.#failed.delete(key);
      const now = new Date(clock.now());
      await utimes(path, now, now);
      if (!exists) await this.#prune(ofThisBoot);
      return layer;
    } catch (error) {
      this.#fail(key, failed, error);
      return undefined;
    }
  }

  #fail(key: string, before: Failed | undefined, error: unknown): void {
    const { clock, warn } = this.#settings;
    const pauseMs = Math.min(2 * (before?.pauseMs ?? retryMs.first / 2), retryMs.last);
    this.#failed.set(key, { retryAt: clock.now() + pauseMs, pauseMs });
    const next = `the next start of such a node after ${pauseMs / 60_000} min tries again`;
    const why = error instanceof Error ? error.message : String(error);
    warn(`nodes with kernel: own boot, which takes longer, because a snapshot of their kernel could not be created: ${why}; ${next}`);
  }

  async #make(path: string, spawn: NodeSpawn): Promise<void> {
    const { images, make } = this.#settings;
    const draft = await mkdtemp(join(images, draftPrefix));
    const ending = new AbortController();
    try {
      await chmod(draft, 0o711);
      const saved = await this.#within(makeMs, make(draft, spawn, ending.signal));
      if (saved === undefined) throw new Error(`it was not complete within ${makeMs / 1000} s`);
      await publish(draft, saved, path);
    } finally {
      ending.abort();
      await rm(draft, { recursive: true, force: true });
    }
  }

  /** Returns the result of the work, `undefined` if it takes longer than the time. The work goes on then. */
  async #within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
    const over = new AbortController();
    try {
      return await Promise.race([work, this.#settings.clock.wait(ms, over.signal).then(() => undefined)]);
    } finally {
      over.abort();
      // A failure within the time is thrown above; one after it changes nothing: the caller has gone on without the result.
      work.catch(() => undefined);
    }
  }

  /** Removes snapshots of earlier boots of the machine, those that were not used for longest, and drafts that a crash left. */
  async #prune(ofThisBoot: string): Promise<void> {
    const { images, clock } = this.#settings;
    const names = (await readdir(images)).filter((name) => name.startsWith(snapshotPrefix) || name.startsWith(draftPrefix));
    const found = await Promise.all(
      names.map(async (name) => ({ name, used: (await stat(join(images, name)).catch(() => undefined))?.mtimeMs ?? 0 })),
    );
    const before = clock.now() - abandonedMs;
    const abandoned = found.filter(({ name, used }) => name.startsWith(draftPrefix) && used < before);
    const old = found.filter(({ name }) => name.startsWith(snapshotPrefix) && !name.startsWith(ofThisBoot));
    const unused = found
      .filter(({ name }) => name.startsWith(ofThisBoot))
      .sort((a, b) => b.used - a.used)
      .slice(maxKept)
      .filter(({ used }) => used < before);
    for (const { name } of [...abandoned, ...old, ...unused]) await rm(join(images, name), { recursive: true, force: true });
  }
}

async function publish(draft: string, saved: string, path: string): Promise<void> {
  const directories = ["whole", "whole/rootfs", "whole/rootfs/snapshot"].map((name) => join(draft, name));
  for (const directory of directories) await mkdir(directory, { mode: 0o755 });
  for (const file of ["state", "memory"]) {
    await rename(join(saved, file), join(draft, "whole/rootfs/snapshot", file));
    await chmod(join(draft, "whole/rootfs/snapshot", file), 0o644);
  }
  if (process.getuid?.() === 0) for (const directory of directories.slice(1)) await chown(directory, idRange.base, idRange.base);
  await rename(join(draft, "whole"), path).catch((error: NodeJS.ErrnoException) => {
    // Another service made the same one.
    if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
  });
}

async function isWhole(layer: string): Promise<boolean> {
  return (await stat(join(layer, "snapshot/state")).catch(() => undefined))?.isFile() === true;
}
