import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { NodeSpawn } from "../sandbox/sandbox.ts";
import { KernelSnapshots, type SnapshotMaker } from "./kernel-snapshots.ts";
import { supervisorFile } from "./own-kernel-spawn.ts";

const minute = 60_000;
let images: string;
let now: number;
let warnings: string[];
/** Ends of pauses that run, with their functions. */
let pauses: { readonly at: number; readonly end: () => void }[];

beforeEach(async () => {
  images = await mkdtemp(join(tmpdir(), "labwright-snapshots-"));
  now = 1_800_000_000_000;
  warnings = [];
  pauses = [];
});
afterEach(() => rm(images, { recursive: true }));

const clock = {
  now: () => now,
  wait: (ms: number, signal: AbortSignal) =>
    new Promise<void>((end) => {
      pauses.push({ at: now + ms, end });
      signal.addEventListener("abort", () => end());
    }),
};

function advance(ms: number): void {
  now += ms;
  for (const { at, end } of pauses) if (at <= now) end();
}

const opened = (make: SnapshotMaker) =>
  new KernelSnapshots({ images, bootId: async () => "boot1", make, clock, warn: (text) => warnings.push(text) });

/** A node with this much memory. Nodes with different memory have different snapshots. */
function spawnOf(memory: number): NodeSpawn {
  const files = [{ path: supervisorFile, mode: 0o600, text: `memory ${memory}\n` }];
  return { id: 1, hostname: "n", lower: ["/base"], disk: "/disk", files, env: {}, boot: [], console: [] };
}

const works: SnapshotMaker = async (draft) => {
  const saved = join(draft, "saved");
  await mkdir(saved);
  for (const file of ["state", "memory"]) await writeFile(join(saved, file), file);
  return saved;
};

const fails: SnapshotMaker = async () => {
  throw new Error("no emulator");
};

/** Resolves when the given number of pauses have begun. */
async function begun(count: number): Promise<void> {
  while (pauses.length < count) await new Promise(setImmediate);
}

test("nodes that start together share one snapshot, and later ones use it without another boot", async () => {
  let made = 0;
  const snapshots = opened((...args) => {
    made++;
    return works(...args);
  });
  const [first, second] = await Promise.all([snapshots.prepare(spawnOf(160)), snapshots.prepare(spawnOf(160))]);
  expect(first.lower).toEqual(["/base", expect.stringMatching(/snapshot-boot1-[0-9a-f]{24}\/rootfs$/)]);
  expect(second.lower).toEqual(first.lower);
  expect((await snapshots.prepare(spawnOf(160))).lower).toEqual(first.lower);
  expect(made).toBe(1);
  expect((await readdir(images)).length).toBe(1);
});

test("a snapshot that was removed meanwhile is made again", async () => {
  const snapshots = opened(works);
  const { lower } = await snapshots.prepare(spawnOf(160));
  for (const name of await readdir(images)) await rm(join(images, name), { recursive: true });
  expect((await snapshots.prepare(spawnOf(160))).lower).toEqual(lower);
  expect((await readdir(images)).length).toBe(1);
});

test("after a failure nodes boot, and a snapshot is tried again after a pause that doubles", async () => {
  let make = fails;
  let tries = 0;
  const snapshots = opened((...args) => {
    tries++;
    return make(...args);
  });
  const layers = async () => (await snapshots.prepare(spawnOf(160))).lower.length;
  expect(await layers()).toBe(1);
  advance(minute - 1);
  expect([await layers(), tries]).toEqual([1, 1]);
  advance(1);
  expect([await layers(), tries]).toEqual([1, 2]);
  advance(2 * minute - 1);
  expect([await layers(), tries]).toEqual([1, 2]);
  make = works;
  advance(1);
  expect([await layers(), tries]).toEqual([2, 3]);
  expect(warnings).toEqual([expect.stringMatching(/no emulator; .* after 1 min/), expect.stringMatching(/no emulator; .* after 2 min/)]);
  expect((await readdir(images)).filter((name) => name.startsWith("."))).toEqual([]);
});

test("the pause after failures is at most half an hour", async () => {
  let tries = 0;
  const snapshots = opened((...args) => {
    tries++;
    return fails(...args);
  });
  for (let i = 1; i <= 12; i++) {
    await snapshots.prepare(spawnOf(160));
    expect(tries).toBe(i);
    advance(30 * minute);
  }
});

test("a node does not wait for a snapshot that hangs; the attempt is given up and tried again", async () => {
  let aborted = false;
  let make: SnapshotMaker = (_draft, _spawn, signal) => {
    signal.addEventListener("abort", () => {
      aborted = true;
    });
    return new Promise(() => {});
  };
  const snapshots = opened((...args) => make(...args));
  const first = snapshots.prepare(spawnOf(160));
  await begun(2);
  advance(minute);
  expect((await first).lower).toEqual(["/base"]);
  expect(aborted).toBe(false);
  const second = snapshots.prepare(spawnOf(160));
  advance(1.5 * minute);
  expect((await second).lower).toEqual(["/base"]);
  while (warnings.length === 0) await new Promise(setImmediate);
  expect(aborted).toBe(true);
  expect(warnings).toEqual([expect.stringContaining("not complete within 150 s")]);
  expect(await readdir(images)).toEqual([]);
  make = works;
  advance(minute);
  expect((await snapshots.prepare(spawnOf(160))).lower.length).toBe(2);
});

test("a snapshot that takes longer than its first node waits serves later nodes", async () => {
  let finish = (): void => undefined;
  const snapshots = opened(async (...args) => {
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    return works(...args);
  });
  const first = snapshots.prepare(spawnOf(160));
  await begun(2);
  advance(minute);
  expect((await first).lower).toEqual(["/base"]);
  const second = snapshots.prepare(spawnOf(160));
  finish();
  expect((await second).lower.length).toBe(2);
  expect(warnings).toEqual([]);
});

test("snapshots of earlier boots, drafts of crashes and the least used snapshots are removed; images and recent ones stay", async () => {
  const old = new Date(now - 20 * minute);
  const add = async (name: string, used: Date) => {
    await mkdir(join(images, name));
    await utimes(join(images, name), used, used);
  };
  await add("base-123", old);
  await add("snapshot-boot0-aaaa", new Date(now));
  await add(".snapshot-crashed", old);
  await add(".snapshot-another-service", new Date(now));
  for (let i = 0; i < 30; i++) await add(`snapshot-boot1-${i}`, new Date(old.getTime() - i * 1000));
  await add("snapshot-boot1-about-to-be-used", new Date(now));
  await opened(works).prepare(spawnOf(160));
  const left = await readdir(images);
  expect(left).toEqual(
    expect.arrayContaining(["base-123", ".snapshot-another-service", "snapshot-boot1-about-to-be-used", "snapshot-boot1-21"]),
  );
  expect(left).not.toContain("snapshot-boot1-22");
  expect(left).not.toContain("snapshot-boot0-aaaa");
  expect(left).not.toContain(".snapshot-crashed");
  expect(left.filter((name) => name.startsWith("snapshot-boot1-")).length).toBe(24);
});

test("spawns that cannot begin from a snapshot stay as they are", async () => {
  const plain = { ...spawnOf(160), files: [] };
  expect(await opened(fails).prepare(plain)).toBe(plain);
  expect(warnings).toEqual([]);
});
