import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { changeKinds } from "./change-kinds.ts";

/** A kind that is missing in the list would be noticed only after a crash: recovery could not finish its changes. */
test("recovery knows every kind of change of the service", async () => {
  const folder = import.meta.dirname;
  const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), "utf8")));
  const declared = texts.flatMap((text) =>
    [...text.matchAll(/: ChangeKind<[^=]*> = \{\s*operation: (?:"(\w+)"|(\w+)Operation,)/g)].map(([, text, constant]) => text ?? constant!),
  );
  expect(declared.length).toBeGreaterThan(10);
  expect([...changeKinds.keys()].sort()).toEqual([...new Set(declared)].sort());
});
