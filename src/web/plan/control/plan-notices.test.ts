import { expect, test } from "vitest";
import { LabwrightError } from "../../../client/browser.ts";
import { appliedText, refusalText } from "./plan-notices.ts";

test("the notice after Apply counts the steps, and names what is left out", () => {
  expect(appliedText({ status: "unchanged" })).toBe("Nothing to do.");
  expect(appliedText({ applied: 1 })).toBe("Applied, 1 step. The host matches the text.");
  expect(appliedText({ applied: 3, unsupported: [{}] })).toBe("Applied, 3 steps, without the unsupported parts.");
});

test("a cancelled change and a stale plan are explained; other errors are not", () => {
  const cancelled = new LabwrightError("", { status: 409, code: "cancelled", data: { applied: [1], remaining: [1, 2] } });
  expect(refusalText(cancelled)).toBe("Cancelled after 1 step; 2 steps were not applied. This is the remaining plan.");
  expect(refusalText(new LabwrightError("", { status: 409, code: "plan_stale" }))).toMatch(/^The lab changed after/);
  expect(refusalText(new LabwrightError("", { status: 409, code: "lab_busy" }))).toBeUndefined();
});
