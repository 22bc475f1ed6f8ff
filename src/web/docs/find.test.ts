import { expect, test } from "vitest";
import { findSections, type SearchRow } from "./find.ts";

const rows: readonly SearchRow[] = [
  { address: "a.html#one", page: "Links", heading: "Quality", text: "A link can be suspended. ".repeat(20) },
  { address: "a.html#two", page: "Links", heading: "Suspend", text: "A suspended side has no carrier." },
  { address: "b.html#x", page: "Nodes", heading: "Power", text: "Start and stop." },
];
const addresses = (query: string) => findSections(rows, query).map(({ row }) => row.address);

test("a section is found if it contains all words, in any case", () => {
  expect(addresses("STOP power")).toEqual(["b.html#x"]);
  expect(addresses("stop carrier")).toEqual([]);
});

test("a section with the word in its heading comes before one that only mentions it", () => {
  expect(addresses("suspend")).toEqual(["a.html#two", "a.html#one"]);
});

test("blanks find nothing", () => {
  expect(addresses("  ")).toEqual([]);
});

test("an excerpt begins near the word and is short", () => {
  const [first] = findSections(rows, "quality suspended");
  expect(first?.excerpt).toMatch(/^A link can be suspended\..*…$/);
  expect(first?.excerpt.length).toBeLessThan(165);
});
