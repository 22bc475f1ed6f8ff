import { expect, test } from "vitest";
import { type Plan, unchangedText } from "../show-plan.ts";

test("a changed place counts when the lab is created again; other stored parts take effect", () => {
  const plan = (stored: readonly string[]) => ({ stored }) as unknown as Plan;
  expect(unchangedText(plan(["tests"]), false)).toBe(
    "no changes of the host; the text changes tests: apply stores it, and then it takes effect",
  );
  expect(unchangedText(plan(["place"]), true)).toBe(
    "no changes of the host; stored the changed place; the place counts when the lab is created again",
  );
});
