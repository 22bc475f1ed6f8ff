import { expect, test } from "vitest";
import { isSelector, type SelectableNode } from "../../intent/fields/node-selector.ts";
import { selectNodes, selectorsOf } from "./select-nodes.ts";

const node = (key: string, kinds: readonly string[], groups: readonly string[], labels = {}): SelectableNode => ({
  key,
  kinds,
  groups,
  labels,
});
const nodes = [
  node("leaf1", ["frr", "router"], ["fabric"], { site: "north" }),
  node("leaf2", ["frr", "router"], ["fabric"], { site: "south" }),
  node("spine1", ["frr", "router"], ["fabric", "core"], { site: "north", "a=b": "c" }),
  node("h1", ["linux"], [], { role: "client" }),
];
const chosen = (...words: readonly string[]) => selectNodes(words, nodes, "/lab").join(" ");

test("nodes are chosen by name, pattern, kind, group and label, each once and in the order of the lab", () => {
  expect(chosen("h1", "leaf1")).toBe("leaf1 h1");
  expect(chosen("leaf*", "leaf1")).toBe("leaf1 leaf2");
  expect(chosen("?1", "s*1")).toBe("spine1 h1");
  expect(chosen("kind:linux")).toBe("h1");
  expect(chosen("kind:router", "kind=linux")).toBe("leaf1 leaf2 spine1 h1");
  expect(chosen("group:core")).toBe("spine1");
  expect(chosen("group:fab*")).toBe("leaf1 leaf2 spine1");
  expect(chosen("label:site=north")).toBe("leaf1 spine1");
  expect(chosen("role=cl*")).toBe("h1");
  expect(chosen("*")).toBe("leaf1 leaf2 spine1 h1");
});

test("a word without a node is an error with near names", () => {
  const hint = (word: string) => {
    try {
      return chosen(word);
    } catch (error) {
      return `${(error as Error).message}: ${(error as { hint?: string }).hint}`;
    }
  };
  expect(hint("leef1")).toBe('/lab has no node for "leef1": did you mean "leaf1"?');
  expect(hint("kind:frrr")).toContain('did you mean "frr"?');
  expect(hint("template:frr")).toContain("kind:frr selects nodes by their template");
  expect(hint("group:edge")).toContain("there are core, fabric");
  expect(hint("label:site=noth")).toContain('did you mean "label:site=north"?');
  expect(hint("zzz*")).toContain("there are h1, leaf1, leaf2, spine1");
});

test("plain names are no selectors", () => {
  expect(["r1", "a.b-c_d", "r*", "r?", "kind=frr", "group:x"].map(isSelector)).toEqual([false, false, true, true, true, true]);
});

test("each kind, group and label that needs no quotes is offered once, and chooses nodes", () => {
  const offered = selectorsOf(nodes);
  expect(offered).toEqual([
    "group:core",
    "group:fabric",
    "kind:frr",
    "kind:linux",
    "kind:router",
    "label:role=client",
    "label:site=north",
    "label:site=south",
  ]);
  for (const word of offered) expect(chosen(word), word).not.toBe("");
});
