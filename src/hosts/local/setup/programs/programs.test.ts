import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { missingPackages } from "./programs.ts";

test("missing programs are reported with their Debian packages", async () => {
  const folder = await mkdtemp(join(tmpdir(), "labwright-programs-"));
  try {
    expect(missingPackages(folder, { compiler: true })).toContain("libc6-dev");
    await writeFile(join(folder, "cc"), "");
    expect(missingPackages(folder, { compiler: true })).toContain("gcc");
    expect(missingPackages(folder, { compiler: false })).not.toContain("gcc");
    await chmod(join(folder, "cc"), 0o755);
    expect(missingPackages(folder, { compiler: true })).not.toContain("gcc");
    expect(missingPackages(folder, { compiler: true, headers: folder })).toContain("libjansson-dev");
    expect(missingPackages(folder, { compiler: false, headers: folder })).not.toContain("libjansson-dev");
    await writeFile(join(folder, "jansson.h"), "");
    expect(missingPackages(folder, { compiler: true, headers: folder })).not.toContain("libjansson-dev");
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("each package that can be missed is one that scripts/setup.sh installs", async () => {
  const script = await readFile(new URL("../../../../../scripts/setup.sh", import.meta.url), "utf8");
  const listed = script.split("\n").flatMap((line) => /^([a-z0-9-]+) {2,}\S/.exec(line)?.[1] ?? []);
  const missable = missingPackages("/nowhere", { compiler: true, headers: "/nowhere" });
  expect(missable.length).toBeGreaterThan(0);
  expect(missable.filter((name) => name !== "apt" && !listed.includes(name))).toEqual([]);
});
