import { expect, test } from "vitest";
import type { LabShape } from "../../intent/shapes/shape.ts";
import { step } from "../../layout/layout.ts";
import type { Graph } from "../topology/graph/graph.ts";
import { aligned, distributed, freePlace, movableParts } from "./gestures.ts";

const frame: LabShape = { type: "rectangle", x: 100, y: 100, width: 200, height: 40 };
const line: LabShape = { type: "line", x: 0, y: 0, x2: 100, y2: 20 };
const graph = {
  nodes: [
    { id: "r1", at: { x: 0, y: 0 } },
    { id: "r2", at: { x: 500, y: 90 } },
  ],
  links: [],
  texts: [{ id: "text:0", at: { x: 10, y: 10 } }],
  shapes: [
    { id: "shape:1", shape: frame, at: { x: 100, y: 100 } },
    { id: "shape:2", shape: line, at: { x: 0, y: 0 } },
  ],
} as unknown as Graph;

test("nodes and shapes are aligned together, shapes by their middle", () => {
  const parts = movableParts(graph, new Set(["r1", "r2", "shape:1"]));
  expect([...aligned(parts, "y")]).toEqual([
    ["r1", { x: 0, y: 70 }],
    ["r2", { x: 500, y: 70 }],
    ["shape:1", { x: 100, y: 50 }],
  ]);
  expect(aligned(movableParts(graph, new Set(["r2", "shape:2"])), "x").get("shape:2")).toEqual({ x: 225, y: 0 });
});

test("nodes and shapes are distributed together, and the outermost ones stay", () => {
  const places = distributed(movableParts(graph, new Set(["r1", "r2", "shape:1", "text:0"])), "x");
  expect([...places.keys()]).toEqual(["r1", "text:0", "shape:1", "r2"]);
  expect([...places.values()].map(({ x }) => x)).toEqual([0, 167, 233, 500]);
});

test("a new part comes beside the others: first at the right, then at the left, then below", () => {
  const at = { x: 10, y: 20 };
  const places = [{ ...at }];
  for (let parts = 0; parts < 4; parts++) places.push(freePlace({ nodes: places.map((at) => ({ at })) as never }, at));
  expect(places.map(({ x, y }) => [(x - at.x) / step, (y - at.y) / step])).toEqual([
    [0, 0],
    [1, 0],
    [-1, 0],
    [0, 1],
    [1, 1],
  ]);
});

test("a new part that would cover another one stands in a row with it", () => {
  const at = { x: 80, y: 66 };
  expect(freePlace({ nodes: [{ at }] as never }, { x: -10, y: 50 })).toEqual({ x: 80 + step, y: 66 });
  expect(freePlace({ nodes: [{ at }] as never }, { x: -200, y: 50 })).toEqual({ x: -200, y: 50 });
});
