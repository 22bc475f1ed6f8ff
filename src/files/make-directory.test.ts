import { mkdir, mkdtemp, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeDirectory } from "./make-directory.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "labwright-make-directory-"));
});
afterEach(() => rm(dir, { recursive: true }));

const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

test("makeDirectory makes missing directories with the mode, and leaves existing ones", async () => {
  await mkdir(join(dir, "a"), { mode: 0o750 });
  await makeDirectory(join(dir, "a/b/c"), 0o700);
  expect([await modeOf(join(dir, "a")), await modeOf(join(dir, "a/b")), await modeOf(join(dir, "a/b/c"))]).toEqual([0o750, 0o700, 0o700]);
  await makeDirectory(join(dir, "a/b"), 0o755);
  expect(await modeOf(join(dir, "a/b"))).toBe(0o700);
});

test("several calls at once make the same directory", async () => {
  await Promise.all(Array.from({ length: 8 }, () => makeDirectory(join(dir, "x/y/z"), 0o700)));
  expect((await stat(join(dir, "x/y/z"))).isDirectory()).toBe(true);
});

test("makeDirectory fails with the system's error and the path if nothing can be made", async () => {
  await writeFile(join(dir, "file"), "");
  await symlink("nowhere", join(dir, "dangling"));
  await expect(makeDirectory("/proc/labwright/state", 0o700)).rejects.toMatchObject({ code: "ENOENT", path: "/proc/labwright" });
  await expect(makeDirectory(join(dir, "file"), 0o700)).rejects.toMatchObject({ code: "EEXIST", path: join(dir, "file") });
  await expect(makeDirectory(join(dir, "file/below"), 0o700)).rejects.toMatchObject({ code: "ENOTDIR" });
  await expect(makeDirectory(join(dir, "dangling"), 0o700)).rejects.toMatchObject({ code: "EEXIST" });
  await expect(makeDirectory("", 0o700)).rejects.toThrow("empty");
});
