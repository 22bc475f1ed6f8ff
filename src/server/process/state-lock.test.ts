import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { installationOf } from "./installation.ts";
import { holdStateDir } from "./state-lock.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "labwright-state-lock-"));
});
afterEach(() => rm(dir, { recursive: true }));

test("a missing state directory is created for its owner only, and one process holds it until the release", async () => {
  const state = join(dir, "a/b");
  const held = await holdStateDir(state);
  expect((await stat(state)).mode & 0o777).toBe(0o700);
  await expect(holdStateDir(state)).rejects.toThrow(`another service runs on the state directory ${state}`);
  await held.release();
  await (await holdStateDir(state)).release();
});

test.each([
  ["/proc/1/labwright/state", "the system cannot create /proc/1/labwright (ENOENT): create it by hand"],
  ["/proc", "the system cannot create /proc/service.lock (ENOENT)"],
  ["FILE", "FILE is not a directory (EEXIST): move it away"],
  ["FILE/below/it", "FILE is not a directory (ENOTDIR): move it away"],
])("%s cannot be a state directory: %s", async (place, why) => {
  const file = join(dir, "file");
  await writeFile(file, "mine\n");
  const state = place.replace("FILE", file);
  await expect(holdStateDir(state)).rejects.toThrow(`the state directory ${state} cannot be used: ${why.replace("FILE", file)}`);
  expect(await readFile(file, "utf8")).toBe("mine\n");
});

test("a state directory has one id, and a damaged one is named with the next step", async () => {
  const id = installationOf(dir);
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  expect(installationOf(dir)).toBe(id);
  for (const text of ["", id.slice(0, 20), "x\n"]) {
    await writeFile(join(dir, "installation-id"), text);
    expect(() => installationOf(dir)).toThrow(/installation-id is damaged: .*Restore it from a backup/);
  }
});
