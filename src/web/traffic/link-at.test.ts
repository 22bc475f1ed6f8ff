import { expect, test } from "vitest";
import { linkCurve } from "../topology/graph/link-shape.ts";
import { linkAt } from "./link-at.ts";

test("the nearest link is found, also among parallel links", () => {
  const [a, b] = [
    { x: 0, y: 0 },
    { x: 200, y: 0 },
  ];
  const curves = new Map([
    ["upper", linkCurve({ lane: 0, lanes: 2 }, a, b)],
    ["lower", linkCurve({ lane: 1, lanes: 2 }, a, b)],
  ]);
  expect(linkAt(curves, { x: 100, y: -13 }, 5)).toBe("upper");
  expect(linkAt(curves, { x: 100, y: 14 }, 5)).toBe("lower");
  expect(linkAt(curves, { x: 100, y: 0 }, 5)).toBeUndefined();
  expect(linkAt(curves, { x: 300, y: 0 }, 5)).toBeUndefined();
  expect(linkAt(new Map([["alone", linkCurve({ lane: 0, lanes: 1 }, a, a)]]), { x: 3, y: 0 }, 5)).toBe("alone");
});
