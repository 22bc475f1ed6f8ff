import { describe, expect, test } from "vitest";
import type { LabShape } from "../../../intent/shapes/shape.ts";
import { facing, handlesOf, movedShape, resizedShape, shapeBetween, shapesWithIds, shapeText, usualShape } from "./shapes.ts";

const box: LabShape = { type: "rectangle", x: 10, y: 20, width: 100, height: 50 };
const line: LabShape = { type: "line", x: 0, y: 0, x2: 30, y2: -40 };

describe("the id of a shape", () => {
  const before = shapesWithIds([], [box, line, { ...box, x: 500 }]);

  test("stays while the shape is moved, resized or changed, also if the order changes", () => {
    const changed = [{ ...box, x: 500 }, line, { ...box, width: 7 }] as const;
    expect(shapesWithIds(before, changed).map(({ id }) => id)).toEqual(["shape:3", "shape:2", "shape:1"]);
    const moved = [movedShape(line, { x: 9, y: 9 }), box, { ...box, x: 500 }];
    expect(shapesWithIds(before, moved).map(({ id }) => id)).toEqual(["shape:2", "shape:1", "shape:3"]);
  });

  test("of a new shape is new, and equal shapes have ids of their own", () => {
    const ids = shapesWithIds(before, [box, box, line, { ...box, x: 500 }]).map(({ id }) => id);
    expect(ids).toEqual(["shape:1", "shape:4", "shape:2", "shape:3"]);
  });
});

test("a line moves with both ends", () => {
  expect(movedShape(line, { x: 10.4, y: 10 })).toEqual({ type: "line", x: 10, y: 10, x2: 40, y2: -30 });
});

test("a handle moves its edge or corner, and a shape never gets smaller than a pointer can hit", () => {
  expect(resizedShape(box, "se", 10, 10)).toMatchObject({ x: 10, y: 20, width: 110, height: 60 });
  expect(resizedShape(box, "nw", 10, 10)).toMatchObject({ x: 20, y: 30, width: 90, height: 40 });
  expect(resizedShape(box, "e", 10, 99)).toMatchObject({ x: 10, y: 20, width: 110, height: 50 });
  expect(resizedShape(box, "w", 130, 0)).toMatchObject({ x: 110, width: 30 });
  expect(resizedShape(box, "s", 0, -50)).toMatchObject({ height: 10 });
  expect(resizedShape(line, "start", 5, 5)).toMatchObject({ x: 5, y: 5, x2: 30, y2: -40 });
  expect(resizedShape(line, "end", 5, 5)).toMatchObject({ x: 0, y: 0, x2: 35, y2: -35 });
});

test("every shape has handles at its edges, and a description", () => {
  expect(handlesOf(line)).toEqual([
    { handle: "start", x: 0, y: 0 },
    { handle: "end", x: 30, y: -40 },
  ]);
  expect(handlesOf(box).find(({ handle }) => handle === "se")).toEqual({ handle: "se", x: 100, y: 50 });
  expect([shapeText(box), shapeText(line)]).toEqual(["Rectangle 100 × 50", "Line 30 × 40"]);
});

test("a shape is drawn between two points in any direction", () => {
  expect(shapeBetween("ellipse", { x: 50, y: 50 }, { x: 0, y: 10 })).toEqual({ type: "ellipse", x: 0, y: 10, width: 50, height: 40 });
  expect(shapeBetween("line", { x: 50, y: 50 }, { x: 0, y: 10 })).toEqual({ type: "line", x: 50, y: 50, x2: 0, y2: 10 });
  expect(usualShape("rectangle", { x: 0, y: 0 })).toEqual({ type: "rectangle", x: -100, y: -60, width: 200, height: 120 });
});

test("a turned box is resized in its own directions, and its opposite edge stays", () => {
  const turned: LabShape = { ...box, rotation: 90 };
  // A quarter turn: the right edge of the box is at the bottom of the drawing.
  expect(resizedShape(turned, "e", 0, 20)).toEqual({ ...turned, x: 0, y: 30, width: 120 });
  expect(resizedShape(turned, "e", 20, 0)).toEqual(turned);
});

test("a box is turned so that its upper edge faces the pointer, in steps", () => {
  const square = { type: "rectangle", x: -50, y: -50, width: 100, height: 100 } as const;
  expect(facing(square, { x: 0, y: -100 })).toEqual(square);
  expect(facing(square, { x: 57, y: -100 })).toEqual({ ...square, rotation: 30 });
  expect(facing(square, { x: -100, y: 0 })).toEqual({ ...square, rotation: 90 });
});
