import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** Each assumption that was not verified on a host has a name, which is beside its code and in the table of the docs. */
const here = new URL("./", import.meta.url);
const page = (name: string) => readFileSync(new URL(`../../../docs/hosts/${name}.md`, import.meta.url), "utf8");
const docs = page("eve");

const inCode = new Set(
  readdirSync(here, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
    .flatMap((name) => [...readFileSync(new URL(name, here), "utf8").matchAll(/\bguess ([a-z0-9-]+(?:, [a-z0-9-]+)*):/g)])
    .flatMap(([, names = ""]) => names.split(", ")),
);
const inTable = [...page("eve-assumptions").matchAll(/^\| ([a-z0-9]+-[a-z0-9-]+) \|/gm)].map(([, name = ""]) => name);

test("every guess in the code is in the table of the docs, and every one in the table is in the code", () => {
  expect(inCode.size).toBeGreaterThan(10);
  expect([...inTable].sort()).toEqual([...inCode].sort());
});

test("each mark of an assumption in the docs names a row of the table, and each row is listed once", () => {
  const marked = [...docs.matchAll(/\*\*\[([^\]]*)\]\*\*/g)].map(([, name = ""]) => name).filter((name) => name !== "6");
  expect(marked.filter((name) => !inCode.has(name))).toEqual([]);
  expect(new Set(inTable).size).toBe(inTable.length);
});
