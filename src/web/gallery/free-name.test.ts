import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { freeNameOf, renamed } from "./free-name.ts";

test("the offered name is the first number that is not taken", () => {
  expect(freeNameOf("ospf", ["ospf"])).toBe("ospf-2");
  expect(freeNameOf("ospf", ["ospf", "ospf-2", "ospf-4"])).toBe("ospf-3");
});

test("a renamed lab has only another name", () => {
  expect(renamed("# About\nname: a\nnodes:\n  r1: {name: b}\n", "a-2")).toBe("# About\nname: a-2\nnodes:\n  r1: {name: b}\n");
});

test("each example has a name that can be replaced", () => {
  const labs = new URL("../../../labs/", import.meta.url);
  for (const file of readdirSync(labs).filter((one) => one.endsWith(".yaml"))) {
    expect([file, renamed(readFileSync(new URL(file, labs), "utf8"), "other-2")]).toEqual([
      file,
      expect.stringMatching(/^name: other-2$/m),
    ]);
  }
});
