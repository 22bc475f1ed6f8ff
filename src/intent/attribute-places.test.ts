import { expect, test } from "vitest";
import { attributePlaces } from "./attribute-places.ts";

const yaml = `name: places
topology:
  defaults: {template: t, kind: k, attributes: {a: 1, b: 2, c: 3, d: 4, e: 5}}
  kinds:
    k: {attributes: {b: 6}}
    other: {attributes: {e: 7}}
  groups:
    g1: {attributes: {c: 8, d: 9}}
    g2: {attributes: {d: 10}}
  nodes:
    n1: {groups: [g1, g2], attributes: {own/er: 11}}
    n2:
`;

test.each([
  ["n1", "own/er", "/topology/nodes/n1/attributes/own~1er", 11],
  ["n1", "a", "/topology/defaults/attributes/a", 3],
  ["n1", "b", "/topology/kinds/k/attributes/b", 5],
  ["n1", "c", "/topology/groups/g1/attributes/c", 8],
  ["n1", "d", "/topology/groups/g2/attributes/d", 9],
  ["n1", "e", "/topology/defaults/attributes/e", 3],
  ["n2", "b", "/topology/kinds/k/attributes/b", 5],
  ["n2", "d", "/topology/defaults/attributes/d", 3],
])("the attribute of %s called %s has its value from where it is said last", (node, attribute, path, line) => {
  expect(attributePlaces(yaml, {}, [{ node, attribute }])).toMatchObject([{ path, line }]);
});

test("the place is the value's, and what is not there has none", () => {
  const [there, ...absent] = attributePlaces(yaml, {}, [
    { node: "n1", attribute: "own/er" },
    { node: "n1", attribute: "z" },
    { node: "n9", attribute: "a" },
  ]);
  expect(there).toEqual({ path: "/topology/nodes/n1/attributes/own~1er", line: 11, column: 49, end_line: 11, end_column: 51 });
  expect(absent).toEqual([undefined, undefined]);
  expect(attributePlaces("name: [", {}, [{ node: "n1", attribute: "a" }])).toEqual([undefined]);
});
