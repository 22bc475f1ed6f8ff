import { describe, expect, test } from "vitest";
import { readIntent } from "../read.ts";

function nodeOf(yaml: string) {
  const { lab, diagnostics } = readIntent(`name: x\n${yaml}`, {});
  if (lab === undefined) throw new Error(JSON.stringify(diagnostics));
  const { template, image, pull } = lab.nodes[0]!;
  return { template, image, pull };
}

describe("containerlab's kind linux", () => {
  test.each([
    ["nodes: {a: {kind: linux, image: 'frrouting/frr:10.2'}}", "container"],
    ["nodes: {a: {kind: linux, image: 'alpine:latest'}}", "container"],
    ["kinds: {linux: {image: 'r.example/a'}}\nnodes: {a: {kind: linux}}", "container"],
    ["defaults: {kind: linux, image: 'r.example/a'}\nnodes: {a: }", "container"],
    ["groups: {g: {kind: linux}}\nnodes: {a: {group: g, image: 'alpine:3'}}", "container"],
    ["nodes: {a: {kind: linux, image: default}}", "linux"],
    ["nodes: {a: {kind: linux}}", "linux"],
    ["nodes: {a: {template: linux, image: 'alpine:latest'}}", "linux"],
    ["kinds: {linux: {template: linux}}\nnodes: {a: {kind: linux, image: 'alpine:3'}}", "linux"],
    ["nodes: {a: {kind: frr, image: 'frr:10'}}", "frr"],
  ])("%s has the template %s", (yaml, template) => {
    expect(nodeOf(yaml).template).toBe(template);
  });
});

test("pull, and image-pull-policy in containerlab's words, say when an image is pulled", () => {
  const pullOf = (line: string) => nodeOf(`nodes: {a: {template: container, image: a:1, ${line}}}`).pull;
  expect(["pull: always", "image-pull-policy: IfNotPresent", "image-pull-policy: Never"].map(pullOf)).toEqual([
    "always",
    "missing",
    "never",
  ]);
  const codes = (line: string) => readIntent(`name: x\nnodes: {a: {template: container, ${line}}}`, {}).diagnostics.map(({ code }) => code);
  expect(codes("pull: sometimes")).toEqual(["invalid_value"]);
  expect(codes("pull: always, image-pull-policy: Always")).toEqual(["duplicate_key"]);
});
