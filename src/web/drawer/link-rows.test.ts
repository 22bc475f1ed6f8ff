import { expect, test } from "vitest";
import type { InspectedLink } from "../../contract/schemas/observe.ts";
import { linkRows, sortedLinks } from "./link-rows.ts";

const link = (a: string, b: string, more: Partial<InspectedLink> = {}): InspectedLink => ({
  id: `${a}-${b}`,
  key: `${a} -- ${b}`,
  endpoints: [a, b],
  kind: "p2p",
  suspended: false,
  ...more,
});
const rows = linkRows([
  link("r10:eth0", "r2:eth1"),
  link("r2:eth0", "h1:eth0", { suspended: true }),
  link("r1:eth0", "h2:eth0", { stored_quality: { a: { delay: 5 } }, quality: { a: { delay: 20 } } }),
  link("r1:eth1", "h3:eth0", { stored_quality: { a: { delay: 5 } }, quality: { a: { delay: 5 } } }),
]);
const ends = (sorted: readonly { readonly from: string }[]) => sorted.map(({ from }) => from);

test("a link whose live quality differs from the declared one is marked", () => {
  expect(rows.map(({ quality, isLiveOnly }) => [quality, isLiveOnly])).toEqual([
    ["", false],
    ["", false],
    ["→ 20 ms", true],
    ["→ 5 ms", false],
  ]);
});

test("links are sorted by the numbers in their ends, and links without impairments are last in both orders", () => {
  expect(ends(sortedLinks(rows, { column: "from", isDescending: false }))).toEqual(["r1:eth0", "r1:eth1", "r2:eth0", "r10:eth0"]);
  expect(ends(sortedLinks(rows, { column: "state", isDescending: true }))).toEqual(["r2:eth0", "r1:eth0", "r1:eth1", "r10:eth0"]);
  expect(ends(sortedLinks(rows, { column: "quality", isDescending: false }))).toEqual(["r1:eth1", "r1:eth0", "r2:eth0", "r10:eth0"]);
  expect(ends(sortedLinks(rows, { column: "quality", isDescending: true }))).toEqual(["r1:eth0", "r1:eth1", "r2:eth0", "r10:eth0"]);
});
