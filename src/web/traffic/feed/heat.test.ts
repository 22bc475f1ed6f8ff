import { expect, test } from "vitest";
import { heatStep, heatSteps } from "./heat.ts";

test("a faster link is never drawn narrower, and a link without traffic is not drawn", () => {
  expect(heatStep(0)).toBeUndefined();
  expect(heatStep(9_999)).toBe(heatSteps[0]);
  expect(heatStep(10_000)).toBe(heatSteps[1]);
  expect(heatStep(5e9)).toBe(heatSteps.at(-1));
  for (const [at, { from, width }] of heatSteps.slice(1).entries()) {
    expect(from).toBeGreaterThan(heatSteps[at]!.from);
    expect(width).toBeGreaterThan(heatSteps[at]!.width);
  }
});
