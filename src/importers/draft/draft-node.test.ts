import { expect, test } from "vitest";
import { DraftNode } from "./draft-node.ts";

const nodeOf = () => new DraftNode("r1", "r1", { rule: undefined, template: "frr", isStandIn: false, message: "" }, "frr");

test("entries are added to a map that was set, and a set map replaces them", () => {
  const node = nodeOf();
  node.set("labels", { a: "1", b: "2" });
  node.put("labels", "b", "3");
  node.put("labels", "__proto__", "4");
  expect(Object.entries(node.get("labels") as object)).toEqual([
    ["a", "1"],
    ["b", "3"],
    ["__proto__", "4"],
  ]);
  node.set("labels", { c: "5" });
  expect(node.fields).toEqual({ template: "frr", labels: { c: "5" } });
  expect(node.put("nothing", "a", undefined)).toBe(false);
});

test("a map of many entries takes linear time", { timeout: 30_000 }, () => {
  const node = nodeOf();
  for (let index = 0; index < 40_000; index++) node.put("labels", `interface-eth${index}`, "x");
  expect(Object.keys(node.get("labels") as object)).toHaveLength(40_000);
});
