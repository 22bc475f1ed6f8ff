import { expect, test } from "vitest";
import { unfinishedDestroy } from "./last-change.ts";

const last = (operation: string, outcome: string) => ({
  lab: "/campus",
  last_job: { job: "j1", operation, outcome, finished_at: "2026-01-01T00:00:00Z" },
});

test.each(["failed", "interrupted", "cancelled"])("a destroy that ended as %s is noted with the command that continues it", (outcome) => {
  expect(unfinishedDestroy(last("destroyProject", outcome))).toBe(
    `a destroy of /campus did not finish (${outcome}): labwright destroy deletes the rest, labwright jobs j1 shows the reason`,
  );
});

test.each([
  ["destroyProject", "finished"],
  ["destroyProject", "finished_after_restart"],
  ["reconcileProject", "failed"],
] as const)("%s that ended as %s is not noted", (operation, outcome) => {
  expect(unfinishedDestroy(last(operation, outcome))).toBeUndefined();
  expect(unfinishedDestroy({ lab: "/campus" })).toBeUndefined();
});
