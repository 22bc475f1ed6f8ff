import { expect, test } from "vitest";
import { locator } from "./locate.ts";

const body = [
  "kinds: {router: {template: frr}}",
  "nodes:",
  "  r1:",
  "    template: rooter",
  "  r2: {kind: router}",
  "links:",
  '  - ["r1:e", "r2:e"]',
];
const plain = ["name: x", ...body].join("\n");
const wrapped = ["name: x", "topology:", ...body.map((line) => `  ${line}`)].join("\n");

test("a value is found at its own place, in both layouts of the file", () => {
  expect(locator(plain)("/nodes/r1/template")).toEqual({ line: 5, column: 15, end_line: 5, end_column: 21 });
  expect(locator(wrapped)("/nodes/r1/template")).toEqual({ line: 6, column: 17, end_line: 6, end_column: 23 });
});

test("what is not there itself leaves the nearest part that is", () => {
  expect(locator(plain)("/nodes/r2/template")).toMatchObject({ line: 6, column: 3 });
  expect(locator(plain)("/nodes/r9/template")).toMatchObject({ line: 3, column: 1 });
  expect(locator(plain)("/links/0")).toMatchObject({ line: 8, column: 5 });
  expect(locator(plain)("")).toMatchObject({ line: 1, column: 1 });
  expect(locator("nodes: [")("/nodes/r1")).toMatchObject({ line: 1, column: 1 });
});
