import { expect, test } from "vitest";
import { touches } from "./labels.ts";
import { boxesOf, linkShape, portBox } from "./link-shape.ts";

const names = ["r1", "a-rather-long-name-of-a-host"];
const ports = ["eth0", "GigabitEthernet0/0/0/1"];
const angles = Array.from({ length: 24 }, (_, turn) => (turn * Math.PI) / 12);

test.each(angles)("at %d radians no interface name covers a node or its label", (angle) => {
  for (const label of names) {
    for (const port of ports) {
      for (const lane of [0, 1, 2]) {
        const from = { at: { x: 0, y: 0 }, label, kind: "node" } as const;
        const to = { at: { x: 420 * Math.cos(angle), y: 420 * Math.sin(angle) }, label, kind: "node" } as const;
        const shape = linkShape({ fromInterface: port, toInterface: port, lane, lanes: 3 }, from, to);
        for (const place of [shape.fromPort, shape.toPort]) {
          const covered = [...boxesOf(from), ...boxesOf(to)].filter((box) => touches(box, portBox(place, port)));
          expect(covered).toEqual([]);
        }
      }
    }
  }
});

test.each(angles)("at %d radians the button for packets covers no interface name, and leaves the middle of the link free", (angle) => {
  for (const length of [200, 300]) {
    const from = { at: { x: 0, y: 0 }, label: "r1", kind: "node" } as const;
    const to = { at: { x: length * Math.cos(angle), y: length * Math.sin(angle) }, label: "r2", kind: "node" } as const;
    const { packets, fromPort, toPort } = linkShape({ fromInterface: "eth0", toInterface: "eth1", lane: 0, lanes: 1 }, from, to);
    const button = { left: packets.x - 9, right: packets.x + 9, top: packets.y - 9, bottom: packets.y + 9 };
    const covered = [portBox(fromPort, "eth0"), portBox(toPort, "eth1")].filter((box) => touches(box, button));
    expect(covered, `${length} px`).toEqual([]);
    expect(Math.hypot(packets.x - to.at.x / 2, packets.y - to.at.y / 2)).toBeGreaterThan(15);
  }
});

test("links between the same two nodes are drawn apart", () => {
  const [from, to] = [
    { at: { x: 0, y: 0 }, label: "a", kind: "node" },
    { at: { x: 200, y: 0 }, label: "b", kind: "node" },
  ] as const;
  const lines = [0, 1].map((lane) => linkShape({ fromInterface: "", toInterface: "", lane, lanes: 2 }, from, to).line);
  expect(lines).toEqual(["M0 0Q100 -26 200 0", "M0 0Q100 26 200 0"]);
});

test("a link between nodes at the same position can be drawn", () => {
  const end = { at: { x: 5, y: 5 }, label: "a", kind: "node" } as const;
  const { fromPort, note } = linkShape({ fromInterface: "eth0", toInterface: "eth1", lane: 0, lanes: 1 }, end, end);
  expect([fromPort.x, fromPort.y, note.x, note.y].every(Number.isFinite)).toBe(true);
});
