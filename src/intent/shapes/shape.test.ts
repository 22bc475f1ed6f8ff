import fc from "fast-check";
import { expect, test } from "vitest";
import { boundsOf, canonicalShape, type LabShape, lineEndPaths, turnedShape } from "./shape.ts";

const box: LabShape = { type: "rectangle", x: 100, y: 100, width: 40, height: 20 };

test("a shape that is turned and turned back is the same shape", () => {
  fc.assert(
    fc.property(fc.integer({ min: -720, max: 720 }), fc.integer(), fc.integer(), (degrees, x, y) => {
      const back = turnedShape(turnedShape(box, degrees, { x: x % 1000, y: y % 1000 }), -degrees, { x: x % 1000, y: y % 1000 });
      expect(boundsOf(back).x).toBeCloseTo(100, 6);
      expect(boundsOf(back).height).toBeCloseTo(20, 6);
    }),
  );
});

test("a box turned by a right angle is upright, with its sides exchanged", () => {
  expect(turnedShape(box, 90, { x: 120, y: 110 })).toEqual({ type: "rectangle", x: 110, y: 90, width: 20, height: 40 });
  expect(turnedShape(box, 180, { x: 120, y: 110 })).toMatchObject({ x: 100, y: 100, width: 40, height: 20 });
});

test("half a turn changes nothing, and the bounds of a turned box contain its corners", () => {
  expect(canonicalShape({ ...box, rotation: -150 })).toEqual({ ...box, rotation: 30 });
  expect(canonicalShape({ ...box, rotation: 360 })).toEqual(box);
  const { x, width, height } = boundsOf({ ...box, rotation: 90 });
  expect([x, width, height].map(Math.round)).toEqual([110, 20, 40]);
});

test("the marks of a line point away from it; a line without a length or a thickness has none", () => {
  const line = { type: "line", x: 5, y: 5, x2: 105, y2: 5, start: "square", end: "arrow" } as const;
  expect(lineEndPaths(line)).toEqual(["M-4 -4L-4 4L4 4L4 -4Z", "M102.2 0L90 4.5L90 -4.5Z"]);
  expect(lineEndPaths({ ...line, x2: 5 })).toEqual([]);
  expect(lineEndPaths({ ...line, thickness: 0 })).toEqual([]);
});
