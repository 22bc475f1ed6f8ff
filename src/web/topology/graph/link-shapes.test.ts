import { expect, test } from "vitest";
import { touches } from "./labels.ts";
import { portBox } from "./link-shape.ts";
import { linkShapes } from "./link-shapes.ts";

const node = (x: number, y: number, label: string) => ({ at: { x, y }, label, kind: "node" as const });

test("interface names at the same node do not cover each other", () => {
  for (const count of [2, 3, 6, 12]) {
    const spokes = Array.from({ length: count }, (_, at) => {
      // Close together, like a fan below one node.
      const angle = Math.PI / 4 + (at * Math.PI) / 2 / count;
      return [`s${at}`, node(500 * Math.cos(angle), 500 * Math.sin(angle), `s${at}`)] as const;
    });
    const nodes = new Map([["hub", node(0, 0, "hub")], ...spokes]);
    const links = spokes.map(([name], at) => ({
      id: name,
      from: name,
      to: "hub",
      fromInterface: "eth0",
      toInterface: `ethernet${at}`,
      lane: 0,
      lanes: 1,
    }));
    const shapes = linkShapes(links, nodes);
    const boxes = links.map(({ id, toInterface }) => portBox(shapes.get(id)!.toPort, toInterface));
    const covered = boxes.flatMap((box, at) => boxes.slice(at + 1).filter((other) => touches(box, other)));
    expect(covered).toEqual([]);
  }
});

test("each link is drawn, even if there is no room for all names", () => {
  const nodes = new Map([
    ["a", node(0, 0, "a")],
    ["b", node(90, 0, "b")],
  ]);
  const links = Array.from({ length: 8 }, (_, at) => ({
    id: String(at),
    from: "a",
    to: "b",
    fromInterface: "GigabitEthernet0/0/0/1",
    toInterface: "GigabitEthernet0/0/0/1",
    lane: 0,
    lanes: 1,
  }));
  const shapes = [...linkShapes(links, nodes).values()];
  expect(shapes.flatMap(({ fromPort, toPort }) => [fromPort.x, fromPort.y, toPort.x, toPort.y]).every(Number.isFinite)).toBe(true);
  expect(shapes).toHaveLength(8);
});
