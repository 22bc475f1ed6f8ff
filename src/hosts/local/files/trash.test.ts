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

test("what is discarded is away at once and removed in the end, and links in it lead to no harm", async () => {
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

test("what a crash left is removed by the next one who opens it", async () => {
  mkdirSync(join(top, "trash/old/upper"), { recursive: true });
  const trash = await open();
  await trash.emptied();
  expect(readdirSync(join(top, "trash"))).toEqual([]);
});
