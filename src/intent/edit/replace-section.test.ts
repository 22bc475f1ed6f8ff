import { expect, test } from "vitest";
import { replaceSection } from "./replace-section.ts";

const nodes = { a: { template: "linux" } };

test.each([
  ["at the top", "name: x\n", "name: x\nnodes:\n  a:\n    template: linux\n"],
  ["in the wrapper", "name: x\ntopology:\n  nodes: {}\n", "name: x\ntopology:\n  nodes:\n    a:\n      template: linux\n"],
  ["beside a wrapper that is empty", "name: x\ntopology:\n", "name: x\ntopology:\nnodes:\n  a:\n    template: linux\n"],
])("a section is put %s", (_name, yaml, expected) => {
  const { lab, text } = replaceSection(yaml, {}, "nodes", nodes);
  expect(lab?.nodes.map(({ key }) => key)).toEqual(["a"]);
  expect(text.replaceAll(/\s+/g, " ")).toBe(expected.replaceAll(/\s+/g, " "));
});

test.each(["name: x\ntopology:\n", "name: x\n", "name: x\ntopology: {}\n"])(
  "a section that is not there is taken away without a trace: %j",
  (yaml) => {
    expect(replaceSection(yaml, {}, "texts", null).lab?.texts).toEqual([]);
  },
);
