import { expect, test } from "vitest";
import type { PacketNode } from "../../../contract/schemas/captures.ts";
import { fieldAt, rowsOfTree } from "./tree-rows.ts";

const tree: readonly PacketNode[] = [
  {
    label: "Frame 7: 42 bytes",
    filter: "frame",
    offset: 0,
    length: 42,
    children: [{ label: "Frame Number: 7", filter: "frame.number == 7" }],
  },
  {
    label: "Ethernet II",
    filter: "eth",
    offset: 0,
    length: 14,
    children: [
      {
        label: "Destination: ff:ff:ff:ff:ff:ff",
        filter: "eth.dst == ff:ff:ff:ff:ff:ff",
        offset: 0,
        length: 6,
        children: [{ label: "IG bit: 1", filter: "eth.dst.ig == 1", offset: 0, length: 3 }],
      },
      { label: "Type: ARP", filter: "eth.type == 0x0806", offset: 12, length: 2 },
    ],
  },
  { label: "Data", filter: "data", offset: 0, length: 100, source: 0 },
];

const shown = (open: readonly string[]) => rowsOfTree(tree, new Set(open)).map(({ path, level, expanded }) => [path, level, expanded]);

test("the children of an open field follow it", () => {
  expect(shown([])).toEqual([
    ["0", 1, false],
    ["1", 1, false],
    ["2", 1, undefined],
  ]);
  expect(shown(["/eth", "/eth/eth.dst"])).toEqual([
    ["0", 1, false],
    ["1", 1, true],
    ["1.0", 2, true],
    ["1.0.0", 3, undefined],
    ["1.1", 2, undefined],
    ["2", 1, undefined],
  ]);
  expect(rowsOfTree(tree, new Set(["/eth"]))[3]).toMatchObject({
    parent: "1",
    position: 2,
    siblings: 2,
    range: { source: undefined, offset: 12, length: 2 },
  });
});

test("a byte belongs to the innermost field that contains it", () => {
  expect(fieldAt(tree, undefined, 1)).toMatchObject({ path: "1.0.0", open: ["/eth", "/eth/eth.dst"] });
  expect(fieldAt(tree, undefined, 4)).toMatchObject({ path: "1.0", open: ["/eth"] });
  expect(fieldAt(tree, undefined, 13)).toMatchObject({ path: "1.1" });
  expect(fieldAt(tree, undefined, 41)).toMatchObject({ path: "0" });
  expect(fieldAt(tree, 0, 41)).toMatchObject({ path: "2", open: [] });
  expect(fieldAt(tree, undefined, 50)).toBeUndefined();
});
