import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openTrash } from "./trash.ts";

let top: string;
const warnings: string[] = [];
const open = () => openTrash(join(top, "trash"), (text) => warnings.push(text));

beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), "labwright-trash-"));
  warnings.length = 0;
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

test("a discarded directory disappears at once and is removed later; links in it are not followed", async () => {
  const trash = await open();
  mkdirSync(join(top, "disk/deep"), { recursive: true });
  mkdirSync(join(top, "kept"));
  writeFileSync(join(top, "kept/file"), "");
  symlinkSync(join(top, "kept"), join(top, "disk/deep/link"));
  await trash.discard(join(top, "disk"));
  expect(existsSync(join(top, "disk"))).toBe(false);
  await trash.discard(join(top, "never"));
  await trash.emptied();
  expect(readdirSync(join(top, "trash"))).toEqual([]);
  expect(existsSync(join(top, "kept/file"))).toBe(true);
  expect(warnings).toEqual([]);
});

test("the next open removes what a crash left", async () => {
  mkdirSync(join(top, "trash/old/upper"), { recursive: true });
  const trash = await open();
  await trash.emptied();
  expect(readdirSync(join(top, "trash"))).toEqual([]);
});
