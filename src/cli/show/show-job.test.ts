import { expect, test } from "vitest";
import type { Job } from "../../client/index.ts";
import { shortSteps, showJob, unfinishedChange } from "./show-job.ts";
import { type Status, showStatus } from "./show-status.ts";

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

const last = (operation: string, outcome: string) => ({
  lab: "/campus",
  last_job: { job: "j1", operation, outcome, finished_at: "2026-01-01T00:00:00Z" },
});

test.each(["failed", "interrupted", "cancelled"])("a destroy that ended as %s is noted with the command that continues it", (outcome) => {
  expect(unfinishedChange(last("destroyProject", outcome))).toBe(
    `a destroy of /campus did not finish (${outcome}): labwright destroy deletes the rest, labwright jobs j1 shows the reason`,
  );
});

test.each([
  ["deployProject", "a deploy of /campus did not finish (interrupted): labwright apply does the rest; repeat a deploy that had --replace"],
  ["reconcileProject", "an apply of /campus did not finish (interrupted): labwright plan shows the rest, labwright apply does it"],
  ["execProject", "the last change of /campus (start, stop or wipe) did not finish (interrupted): repeat it"],
])("%s that a restart of the service cut off is noted", (operation, note) => {
  expect(unfinishedChange(last(operation, "interrupted"))).toContain(`${note}; labwright jobs j1`);
});

test("tests that were cut off are noted with the command that runs them again", () => {
  expect(unfinishedChange(last("testProject", "interrupted"))).toBe(
    "the tests of /campus did not finish (interrupted): labwright test runs them again",
  );
});

test("a destroy that failed before its first step is not noted, and an interrupted snapshot is noted with the way to check it", () => {
  const { lab, last_job: end } = last("destroyProject", "failed");
  expect(unfinishedChange({ lab, last_job: { ...end, failed_early: true } })).toBeUndefined();
  expect(unfinishedChange(last("takeSnapshot", "interrupted"))).toContain("labwright snapshot list shows whether it was taken");
});

test.each([
  ["destroyProject", "finished"],
  ["destroyProject", "finished_after_restart"],
  ["reconcileProject", "failed"],
] as const)("%s that ended as %s is not noted", (operation, outcome) => {
  expect(unfinishedChange(last(operation, outcome))).toBeUndefined();
  expect(unfinishedChange({ lab: "/campus" })).toBeUndefined();
});

test.each([
  ["execProject", 0, "start, stop or wipe by admin runs"],
  ["reconcileProject", 4, "apply by admin is at step 2 of 4"],
])("the status shows the running change %s with its name in the commands", (name, steps, line) => {
  const operation = { name, user: "admin", step: 2, steps, started_at: "2026-01-01T00:00:00Z" };
  const status = { lab: "/campus", mode: "create", exists: true, locked: false, operation } as unknown as Status;
  expect(showStatus((_, text) => text, status)).toBe(`/campus  mode create\n${line}`);
});
