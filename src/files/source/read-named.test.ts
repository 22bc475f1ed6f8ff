import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readNamed } from "./read-named.ts";

test("files and folders that a lab names are read, and no links", async () => {
  const folder = await mkdtemp(join(tmpdir(), "lw-named-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, "lab", "configs", "deep"), { recursive: true });
  await writeFile(join(folder, "secret"), "secret");
  await writeFile(join(folder, "lab", "other"), "not named");
  await writeFile(join(folder, "lab", "configs", "r1.cfg"), "hostname r1\n");
  await writeFile(join(folder, "lab", "configs", "deep", "r2.cfg"), "hostname r2\n");
  await symlink(join(folder, "secret"), join(folder, "lab", "link"));
  await symlink(folder, join(folder, "lab", "up"));
  const names = async (...paths: readonly string[]) => [...(await readNamed(join(folder, "lab"), paths)).files.keys()];
  expect(await names("configs/r1.cfg", "none/at/all", "configs/r1.cfg/below")).toEqual(["configs/r1.cfg"]);
  expect(await names("configs")).toEqual(["configs/deep/r2.cfg", "configs/r1.cfg"]);
  expect(await names("link", "up", "up/secret")).toEqual([]);
});
