import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bytesBelow } from "./bytes-below.ts";
import { CopyProgress } from "./copy-progress.ts";

test("the bar grows with the bytes and ends at 100 %", () => {
  let time = 0;
  const copied = new CopyProgress("r1", 4_000_000, () => time);
  time = 1000;
  expect(copied.add(1_000_000)).toBe("r1: [#####...............]  25 %, 1.0 MB, 1.0 MB/s");
  expect(copied.add(3_100_000)).toBe("r1: [####################] 100 %, 4.1 MB, 4.1 MB/s");
});

test("a copy of unknown size has no bar", () => {
  let time = 0;
  const copied = new CopyProgress("2 nodes", undefined, () => time);
  time = 2000;
  expect(copied.add(5_000_000)).toBe("2 nodes: 5.0 MB, 2.5 MB/s");
});

test("the size of a folder is the bytes of its files; links count nothing", async () => {
  const folder = await mkdtemp(join(tmpdir(), "labwright-bytes-"));
  try {
    await mkdir(join(folder, "a/b"), { recursive: true });
    await writeFile(join(folder, "x"), "12345");
    await writeFile(join(folder, "a/b/y"), "123");
    await symlink("/", join(folder, "a/root"));
    expect(await bytesBelow(folder)).toBe(8);
    expect(await bytesBelow(join(folder, "x"))).toBe(5);
    expect(await bytesBelow(join(folder, "missing"))).toBeUndefined();
  } finally {
    await rm(folder, { recursive: true });
  }
});
