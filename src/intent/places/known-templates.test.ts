import { expect, test } from "vitest";
import { readIntent } from "../read/read.ts";
import { knownTemplates, templateWarnings } from "./known-templates.ts";

const templates = knownTemplates([
  "id: eos\ntype: router\nbackend: container\ninterfaces: {format: 'eth{0}', aliases: ['Management0,Ethernet{1}', 'Ma0,Et{1}'], max: 9}\n",
  "id: linux\ntype: server\nbackend: namespace\nimages: [base]\ninterfaces: {format: 'eth{0}', max: 9}\n",
]);

function warnings(...links: readonly string[]): readonly string[] {
  const nodes = "nodes:\n  c: {template: eos}\n  a: {template: linux}\n  b: {template: linux}\nlinks:\n";
  const yaml = `name: x\n${nodes}${links.map((link) => `  - ${link}\n`).join("")}`;
  const { lab } = readIntent(yaml, {});
  if (lab === undefined) throw new Error("the lab has an error");
  return templateWarnings(lab, { yaml, files: {} }, templates).map(({ line, code, message }) => `${line} ${code} ${message}`);
}

test("two links at one interface by two of its names are reported with the line of the second", () => {
  expect(warnings('["c:Et1", "a:eth1"]', '["c:eth1", "b:eth1"]')).toEqual([
    "8 interface_in_use node c calls one interface Et1 and eth1, and an interface has one link",
  ]);
  expect(warnings('["c:Ethernet2", "a:eth1"]', '["c:Et2", "c:eth3"]')).toEqual([
    "8 interface_in_use node c calls one interface Ethernet2 and Et2, and an interface has one link",
  ]);
});

test("links at different interfaces are not reported, whatever their names are", () => {
  expect(warnings('["c:Et1", "a:eth1"]', '["c:eth2", "b:eth1"]', '["c:Management0", "a:eth2"]')).toEqual([]);
});
