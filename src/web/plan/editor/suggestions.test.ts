import { expect, test } from "vitest";
import { labSchema } from "../../../intent/schema.ts";
import { type Schema, suggestionsAt } from "./suggestions.ts";

const names = { schema: labSchema as unknown as Schema, templates: ["frr", "linux"] };
const labels = (before: string) => suggestionsAt(before, names)?.options.map(({ label }) => label);

test("at the left margin the sections of a lab are offered", () => {
  expect(labels("name: x\nno")).toEqual(expect.arrayContaining(["nodes", "links", "networks", "defaults"]));
  expect(suggestionsAt("no", names)?.typed).toBe("no");
});

test.each([
  ["in a block", "nodes:\n  r1:\n    te"],
  ["in braces", "nodes:\n  r1: {te"],
  ["in braces, after another", "nodes:\n  r1: {ram: 5, "],
  ["in defaults", "defaults:\n  "],
  ["in a kind of a containerlab file", "name: x\ntopology:\n  kinds:\n    router:\n      "],
])("the fields of a node are offered %s", (_where, before) => {
  expect(labels(before)).toEqual(expect.arrayContaining(["template", "image", "startup-config"]));
});

test("the host's templates are offered as templates", () => {
  expect(labels("nodes:\n  r1: {template: f")).toEqual(["frr", "linux"]);
  expect(labels("nodes:\n  r1:\n    template: ")).toEqual(["frr", "linux"]);
});

test("booleans and quality presets are offered as values", () => {
  expect(labels("nodes:\n  r1:\n    start: ")).toEqual(expect.arrayContaining(["true", "false"]));
  expect(labels("links:\n  - endpoints: [a, b]\n    quality: ")).toEqual(expect.arrayContaining(["wan1", "satellite"]));
});

test("the fields of a link and free interfaces are offered", () => {
  const before =
    'nodes:\n  r1: {template: frr}\n  r2:\n    template: frr\nnetworks:\n  lan: {type: bridge}\nlinks:\n  - ["r1:eth0", "r2:eth0"]\n';
  expect(labels(`${before}  - `)).toEqual(expect.arrayContaining(["endpoints", "quality", "suspended"]));
  expect(labels(`${before}  - ["`)).toEqual(["r1:eth1", "r2:eth1", "lan"]);
});

test("nothing is offered in a comment", () => {
  expect(suggestionsAt("nodes: # te", names)).toBeUndefined();
});
