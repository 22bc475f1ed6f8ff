import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { exists } from "../files/file-exists.ts";
import { idRange, ownRange } from "../machine/idmap.ts";
import type { LocalPaths } from "../machine/paths.ts";
import type { NodeSpawn, Sandbox } from "../sandbox/sandbox.ts";
import { createSandbox, openSandbox } from "../sandbox/sandbox-client.ts";
import { supervisor } from "../templates/vm-template.ts";
import { type SnapshotClock, type SnapshotSettings, snapshotPrefix } from "./kernel-snapshots.ts";
import { supervisorFile } from "./own-kernel-spawn.ts";

/** Time for one boot on a busy machine, ms. */
const bootMs = 120_000;
/** The one node of the sandbox in which a snapshot is made. */
const node = 1;

/** Returns the settings of the snapshots of this machine. */
export function snapshotSettings(paths: LocalPaths, warn: (text: string) => void): SnapshotSettings {
  let bootId: Promise<string> | undefined;
  return {
    images: paths.images,
    bootId: () => {
      bootId ??= readFile("/proc/sys/kernel/random/boot_id", "utf8").then((text) => text.slice(0, 8));
      return bootId;
    },
    make: (draft, spawn, signal) => makeSnapshot(paths, draft, spawn, signal),
    clock: systemClock,
    warn,
  };
}

const systemClock: SnapshotClock = {
  now: () => Date.now(),
  wait: (ms, signal) => delay(ms, undefined, { signal }).catch(() => undefined),
};

/** Ends the sandboxes in which a service that crashed made snapshots. */
export async function endAbandonedSnapshots(paths: LocalPaths): Promise<void> {
  for (const lab of (await readdir(paths.run)).filter((name) => name.startsWith(snapshotPrefix))) {
    const dir = join(paths.run, lab);
    await (await openSandbox({ holder: paths.holder, dir, lab }))?.destroy();
    await rm(dir, { recursive: true, force: true });
  }
}

/** Boots a guest in a sandbox of its own, in which nothing of a lab is. */
async function makeSnapshot(paths: LocalPaths, draft: string, { lower, files, main }: NodeSpawn, signal: AbortSignal): Promise<string> {
  const { holder, run } = paths;
  const lab = `${snapshotPrefix}${randomUUID()}`;
  const dir = join(run, lab);
  let sandbox: Sandbox | undefined;
  try {
    await mkdir(dir, { mode: 0o700 });
    const ids = process.getuid?.() === 0 ? { idMap: idRange, ownRange: ownRange(paths) } : {};
    sandbox = await createSandbox({ holder, dir, lab, ...ids });
    const settings = files.filter(({ path }) => path === supervisorFile);
    const rest = { env: {}, boot: [], console: [supervisor, "snapshot"], ...(main === undefined ? {} : { main }) };
    await sandbox.spawn([{ id: node, hostname: "snapshot", lower, disk: join(draft, "disk"), files: settings, ...rest }]);
    await ended(sandbox, signal);
    const saved = join(draft, "disk/upper/vm");
    if (!(await exists(join(saved, "state"))))
      throw new Error((await sandbox.tail(node)).trim().slice(-500) || "its hypervisor saved no state");
    return saved;
  } finally {
    await sandbox?.destroy();
    await rm(dir, { recursive: true, force: true });
  }
}

/** Lets the node boot, and waits until it has ended. Throws if it does not. */
async function ended(sandbox: Sandbox, signal: AbortSignal): Promise<void> {
  let end = (_problem?: string): void => undefined;
  const over = new Promise<string | undefined>((resolve) => {
    end = resolve;
  });
  const abort = () => end("it took too long");
  signal.addEventListener("abort", abort, { once: true });
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
    signal.removeEventListener("abort", abort);
    watch.close();
  }
}
