import { expect, test } from "vitest";
import type { Job } from "../../client/index.ts";
import { shortSteps, showJob } from "./show-job.ts";

const job = (outcome: string, step: number): Job =>
  ({
    job: "j1",
    lab: "/campus",
    operation: "deployProject",
    user: "ann",
    status: "failed",
    outcome,
    step,
    steps: 12,
    started_at: "2026-01-01T00:00:00Z",
  }) as Job;

test("the steps of an interrupted change are a minimum: its last call may have done more", () => {
  expect(shortSteps(job("interrupted", 0))).toBe("≥ 0/12");
  expect(showJob(job("interrupted", 0))).toContain("at least 0 of 12 are done; labwright plan");
});

test.each([
  ["failed", 3],
  ["interrupted", 12],
])("the steps of a change that ended as %s after step %i are exact", (outcome, step) => {
  expect(shortSteps(job(outcome, step))).toBe(`${step}/12`);
  expect(showJob(job(outcome, step))).toContain(`${step} of 12`);
});
