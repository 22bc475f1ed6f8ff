import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { firstFile, tarFrame } from "./tar.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "page-tar-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const names = ["plain.txt", `${"long".repeat(40)}.cfg`, "grüße – 2.conf"];

test.each(names)("GNU tar unpacks a file with the name %s", (name) => {
  const content = Buffer.from("hostname r1\n".repeat(100));
  const { before, after } = tarFrame(name, content.length, Date.UTC(2026, 0, 1));
  execFileSync("tar", ["-xf", "-", "-C", folder], { input: Buffer.concat([before, content, after]) });
  expect(readdirSync(folder)).toEqual([name]);
  expect(readFileSync(join(folder, name))).toEqual(content);
});

test.each([
  ["gnu", names],
  ["pax", names],
] as const)("a file is found in an archive of tar in the format %s, and none in that of a folder", async (format, all) => {
  for (const name of all) {
    writeFileSync(join(folder, name), `contents of ${name}`);
    const archive = new Blob([execFileSync("tar", ["-C", folder, `--format=${format}`, "-cf", "-", "--", name])]);
    expect(await (await firstFile(archive))?.text()).toBe(`contents of ${name}`);
  }
  mkdirSync(join(folder, "sub"));
  const archive = new Blob([execFileSync("tar", ["-C", folder, `--format=${format}`, "-cf", "-", "sub"])]);
  expect(await firstFile(archive)).toBeUndefined();
  await expect(firstFile(new Blob(["x".repeat(1024)]))).rejects.toThrow("no tar archive");
});
