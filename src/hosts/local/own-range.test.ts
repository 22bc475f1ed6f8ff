import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeTraversableDirectory } from "./files/traversable-directory.ts";
import { idRange, ownRange } from "./machine/idmap.ts";
import { boot, sandboxBench } from "./sandbox/sandbox.fixture.ts";
import { testDirectory } from "./testing/test-directory.fixture.ts";

const { create, newLab, node, top } = sandboxBench("range");
const root = process.getuid?.() === 0;

/** Returns the id to which the lab's user namespace maps 0. */
const firstId = (pid: number) => Number(readFileSync(`/proc/${pid}/uid_map`, "utf8").trim().split(/\s+/)[1]);

test("the directories whose files a lab sees in its own range are listed once, without directories below another", () => {
  expect(ownRange({ state: "/s", images: "/s/images", vmImages: "/s/vm-images" }).files).toEqual(["/s"]);
  expect(ownRange({ state: "/s", images: "/srv", vmImages: "/srv/vm" }).files).toEqual(["/s", "/srv"]);
  expect(ownRange({ state: "/s", images: "/s2", vmImages: "/s2" }).files).toEqual(["/s", "/s2"]);
});

describe.runIf(root)("a lab's range of user ids", () => {
  test("reaches images below a directory that only the range on disk can traverse, such as another service's state", async () => {
    const other = join(top(), "other");
    await makeTraversableDirectory(other);
    mkdirSync(join(other, "images"));
    const paths = { state: join(top(), "state"), images: join(other, "images"), vmImages: join(other, "vm-images") };
    expect(ownRange(paths).files).toEqual([paths.state, other]);
  });

  test("belongs to no other running lab, and is free again when the lab has ended", async () => {
    const own = { locks: join(top(), "locks"), files: [top()] };
    const one = newLab();
    const two = { ...newLab(), lab: one.lab }; // the same name: both try the same range first
    const first = await create({ ...one, ownRange: own });
    const second = await create({ ...two, ownRange: own });
    const ids = [firstId(first.pid), firstId(second.pid)];
    expect(Math.abs(ids[0]! - ids[1]!)).toBeGreaterThanOrEqual(idRange.count);
    await first.destroy();
    const third = await create({ ...newLab(), lab: one.lab, ownRange: own });
    expect(firstId(third.pid)).toBe(ids[0]);
  });

  test("needs a holder that supports it: an older holder is reported with a remedy", async () => {
    const holder = join(top(), "old-holder");
    writeFileSync(holder, "#!/bin/sh\necho 'usage: labwright-holder lab=<id>' >&2\nexit 2\n", { mode: 0o755 });
    const own = { locks: join(top(), "locks"), files: [top()] };
    const started = create({ ...newLab(), holder, ownRange: own });
    await expect(started).rejects.toMatchObject({
      code: "host_error",
      message: expect.stringMatching(/another release .* labwright setup/),
    });
  });

  test("is the shared range if a file system has no idmapped mounts; the reason is reported and nodes run", async () => {
    // Outside of top(): labs of other tests that start now keep a copy of this mount until they end.
    const plain = await testDirectory("ramfs");
    execFileSync("mount", ["-t", "ramfs", "ramfs", plain]);
    try {
      const reasons: string[] = [];
      const own = { locks: join(top(), "locks"), files: [top(), plain] };
      const sandbox = await create({ ...newLab(), ownRange: own, onSharedRange: (why) => reasons.push(why) });
      expect(reasons).toEqual(["a file system of these directories has no idmapped mounts"]);
      expect(firstId(sandbox.pid)).toBe(idRange.base);
      await boot(sandbox, [node(1)]);
      expect(await sandbox.exec(1, ["stat", "-c", "%u", "/etc"])).toMatchObject({ stdout: "0\n" });
      await sandbox.destroy();
    } finally {
      execFileSync("umount", [plain]);
      rmSync(plain, { recursive: true });
    }
  });
});
