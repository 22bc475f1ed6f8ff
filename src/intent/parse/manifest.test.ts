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

test("a printed manifest reads as the same manifest", () => {
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

test.each([
  ["a list of millions", `[${"1,".repeat(8_000_000)}1]`],
  ["a hundred thousand keys", `version: 1\n${Array.from({ length: 100_000 }, (_, index) => `k${index}: 1\n`).join("")}`],
  ["the same key over and over", `version: 1\n${"a: 1\n".repeat(13_000)}`],
  ["lists in lists", "- ".repeat(100_000)],
  ["brackets in brackets", "[".repeat(200_000)],
  [
    "aliases of aliases",
    `a: &a [1,1]\n${Array.from({ length: 40 }, (_, index) => `b${index}: &${"b".repeat(index + 1)} [*a, *a]\n`).join("")}`,
  ],
])("%s is refused at once", (_name, text) => {
  const started = performance.now();
  expect(readManifest(text)).toHaveProperty("problem");
  expect(performance.now() - started).toBeLessThan(20_000);
});

test("the text of a caller is never written to standard error", async () => {
  readManifest("%secret\n---\nversion: 1\n");
  readManifest("version: 1\nmode: !!hidden create\n");
  // Warnings are emitted in the next tick.
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings).toEqual([]);
});
