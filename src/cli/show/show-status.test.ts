import { expect, test } from "vitest";
import { type Status, showStatus } from "./show-status.ts";

test.each([
  ["execProject", 0, "start, stop or wipe by admin runs"],
  ["reconcileProject", 4, "apply by admin is at step 2 of 4"],
])("the status shows the running change %s with its name in the commands", (name, steps, line) => {
  const operation = { name, user: "admin", step: 2, steps, started_at: "2026-01-01T00:00:00Z" };
  const status = { lab: "/campus", mode: "create", exists: true, locked: false, operation } as unknown as Status;
  expect(showStatus((_, text) => text, status)).toBe(`/campus  mode create\n${line}`);
});
