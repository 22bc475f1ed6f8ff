import { expect, test } from "vitest";
import type { UnlLab, UnlNode } from "../lab-file/unl.ts";
import { restoredIds } from "./restored-ids.ts";

const node = (id: number, name: string, image = ""): UnlNode => ({ id, name, template: "vios", type: "qemu", image, interfaces: [] });
const lab = (nodes: readonly UnlNode[], networks: readonly number[] = []): UnlLab => ({
  nodes,
  networks: networks.map((id) => ({ id })),
  textObjects: [],
  pictures: [],
  configs: [],
});
const taken = (nodes: readonly number[] = [], networks: readonly number[] = []) => ({ nodes: new Set(nodes), networks: new Set(networks) });

const numbers = (before: UnlLab, wanted: UnlLab, others = taken(), most = 127) => {
  const { given, kept } = restoredIds(before, wanted, others, most);
  const of = wanted.nodes.map(({ id, name = "" }) => [name, given.node(id)]);
  return { ...Object.fromEntries(of), kept: [...kept].sort() };
};

test("a node that has another number now keeps that number, and its disk with it", () => {
  expect(numbers(lab([node(5, "a"), node(1, "b")]), lab([node(1, "a"), node(2, "b")]))).toEqual({ a: 5, b: 1, kept: [1, 5] });
});

test("a node gets no number that a kept node or another lab has", () => {
  expect(numbers(lab([node(2, "a")]), lab([node(1, "a"), node(2, "b"), node(3, "c")]), taken([3]))).toEqual({
    a: 2,
    b: 1,
    c: 4,
    kept: [2],
  });
});

test("a node with another image, and the second of two namesakes, are new nodes", () => {
  expect(numbers(lab([node(1, "a", "x")]), lab([node(1, "a", "y")]))).toEqual({ a: 1, kept: [] });
  expect(numbers(lab([node(1, "a")]), lab([node(1, "a"), node(2, "a")])).kept).toEqual([1]);
});

test("of several nodes with one name, each keeps its own number and disk", () => {
  const before = lab([node(1, "a"), node(5, "a")]);
  expect(restoredIds(before, lab([node(5, "a")]), taken(), 127).given.node(5)).toBe(5);
  expect([...restoredIds(before, lab([node(5, "a")]), taken(), 127).kept]).toEqual([5]);
  const { given } = restoredIds(before, lab([node(2, "a"), node(5, "a")]), taken(), 127);
  expect([given.node(2), given.node(5)]).toEqual([1, 5]);
});

test("networks keep their number unless another lab has it", () => {
  const { given } = restoredIds(lab([]), lab([], [1, 2, 3]), taken([], [2]), 127);
  expect([1, 2, 3].map(given.network)).toEqual([1, 4, 3]);
});

test("too few free numbers are an error before anything is changed", () => {
  expect(() => numbers(lab([]), lab([node(1, "a"), node(2, "b")]), taken([1]), 2)).toThrow(/too few of them are free/);
});
