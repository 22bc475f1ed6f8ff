import { afterEach, beforeEach, expect, test } from "vitest";
import { printManifest, readManifest } from "./manifest.ts";

const warnings: Error[] = [];
const note = (warning: Error) => warnings.push(warning);

beforeEach(() => {
  process.on("warning", note);
});
afterEach(() => {
  process.off("warning", note);
  warnings.length = 0;
});

test("what is printed is read again", () => {
  const manifest = {
    version: 1,
    mode: "create",
    lab: "/a/b",
    intent: "a.yaml",
    files: ["r1.conf"],
    host: { kind: "memory", url: "memory:" },
  } as const;
  expect(readManifest(printManifest(manifest))).toEqual({ manifest });
});

test.each([
  "",
  "[]",
  "version: 2",
  "version: 1\nmode: x",
  "version: 1\nlab: 1",
  "version: 1\nfiles: [1]",
  "version: 1\nhost: {}",
  "a: *b",
  "{",
])("%j is no manifest", (text) => {
  expect(readManifest(text)).toHaveProperty("problem");
});

test("the text of a caller is never written to standard error", async () => {
  readManifest("%secret\n---\nversion: 1\n");
  readManifest("version: 1\nmode: !!hidden create\n");
  // Warnings are emitted in the next tick.
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings).toEqual([]);
});
