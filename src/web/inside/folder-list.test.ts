import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderEntries, listCommand, pathIn } from "./folder-list.ts";

test("the entries of a real folder are read, folders first, also hidden ones and those with blanks and bars", () => {
  const folder = mkdtempSync(join(tmpdir(), "folder-list-"));
  try {
    mkdirSync(join(folder, "z folder"));
    writeFileSync(join(folder, ".hidden"), "abc");
    writeFileSync(join(folder, "a|b\tc"), "");
    writeFileSync(join(folder, "-n"), "x");
    writeFileSync(join(folder, "broken\nname"), "x");
    symlinkSync("z folder", join(folder, "link"));
    const [program, ...given] = listCommand(folder);
    const entries = folderEntries(execFileSync(program!, given, { encoding: "utf8" }));
    expect(entries.map(({ name, kind }) => [name, kind])).toEqual([
      ["z folder", "folder"],
      ["-n", "file"],
      [".hidden", "file"],
      ["a|b\tc", "file"],
      ["link", "link"],
    ]);
    expect(entries.find(({ name }) => name === ".hidden")?.size).toBe(3);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("paths go down and up, and not above the root", () => {
  expect([pathIn("/", "etc"), pathIn("/etc", "frr"), pathIn("/etc/frr", ".."), pathIn("/etc", ".."), pathIn("/", "..")]).toEqual([
    "/etc",
    "/etc/frr",
    "/etc",
    "/",
    "/",
  ]);
});
