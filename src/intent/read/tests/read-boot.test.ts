import { expect, test } from "vitest";
import { editIntent } from "../../edit/edit.ts";
import { readIntent } from "../read.ts";

const yaml = `name: x
defaults:
  template: linux
  ready: {command: "true"}   # of every node
kinds:
  router: {template: frr, ready: [{route: 10.0.0.0/8}]}
nodes:
  a:
  b: {ready: null}
  c: {kind: router}
  d: {ready: {command: "false"}, depends-on: [a]}
`;

test("ready is inherited from defaults and kinds, a node's own conditions replace it, and null removes it", () => {
  const { lab, diagnostics } = readIntent(yaml);
  expect(diagnostics).toEqual([]);
  const boots = lab?.boots?.map(({ node, ready, inheritsReady, dependsOn }) => [node, ready[0]?.kind, inheritsReady, dependsOn.length]);
  expect(boots).toEqual([
    ["a", "command", true, 0],
    ["c", "route", true, 0],
    ["d", "command", undefined, 1],
  ]);
});

test("a mistake in inherited conditions is reported once, at its place", () => {
  const { diagnostics } = readIntent("name: x\ndefaults: {template: linux, ready: {pong: a}}\nnodes: {a: , b: }\n");
  expect(diagnostics.map(({ code, path }) => [code, path])).toEqual([["unknown_key", "/defaults/ready/pong"]]);
});

test("an edit that adds a node keeps the comments of a lab with inherited conditions", () => {
  const { lab } = readIntent(yaml);
  const added = { ...lab!.nodes.find(({ key }) => key === "a")!, key: "e", name: "e" };
  const edited = editIntent(yaml, {}, { ...lab!, nodes: [...lab!.nodes, added] });
  expect(edited.yaml).toContain("# of every node");
  expect(readIntent(edited.yaml).lab?.boots?.map(({ node }) => node)).toEqual(["a", "c", "d", "e"]);
});
