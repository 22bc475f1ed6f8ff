import { expect, test } from "vitest";
import { failureOf } from "../service.fixture.ts";
import { selectNodes } from "./node-selectors.ts";

const nodes = [
  { key: "leaf1", template: "frr", labels: { role: "leaf", site: "a" } },
  { key: "leaf2", template: "frr", labels: { role: "leaf", site: "b" } },
  { key: "spine1", template: "frr", labels: { role: "spine" } },
  { key: "web", template: "linux", labels: {} },
];
const selected = (...selectors: string[]) => [...selectNodes(selectors, nodes, "/clos")];

test("a selector is a key, a pattern, a kind or a label", () => {
  expect(selected("web")).toEqual(["web"]);
  expect(selected("leaf?", "web", "leaf1")).toEqual(["leaf1", "leaf2", "web"]);
  expect(selected("*1")).toEqual(["leaf1", "spine1"]);
  expect(selected("*a*1")).toEqual(["leaf1"]);
  expect(selected("kind=frr")).toEqual(["leaf1", "leaf2", "spine1"]);
  expect(selected("role=leaf")).toEqual(["leaf1", "leaf2"]);
  expect(selected("site=?")).toEqual(["leaf1", "leaf2"]);
});

test("a selector without a node is refused", async () => {
  const message = async (selector: string) =>
    (await failureOf(Promise.resolve().then(() => selectNodes([selector], nodes, "/clos")))).message;
  expect(await message("leaf")).toBe('/clos has no node leaf; did you mean "leaf1"?');
  expect(await message("border")).toBe("/clos has no node border");
  for (const each of ["x*", "kind=qemu", "role=border", "toString=*", "leaf??"])
    expect(await message(each)).toBe(`/clos has no node for ${each}`);
});

test("a pattern of many stars is compared in a moment", () => {
  const long = [
    { key: "a".repeat(1000), template: "x", labels: {} },
    { key: `${"a".repeat(1000)}b`, template: "x", labels: {} },
  ];
  expect([...selectNodes([`${"*a".repeat(300)}*b`], long, "/x")]).toEqual([long[1]!.key]);
});
