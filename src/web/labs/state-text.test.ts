import { expect, test } from "vitest";
import type { LabEntry, StatusData } from "../../contract/schemas/observe.ts";
import { changeText, stateText } from "./state-text.ts";

const entry: LabEntry = { lab: "/a", name: "a", mode: "create", exists: true };
const status = (...nodes: readonly string[]): StatusData => ({
  lab: "/a",
  name: "a",
  mode: "create",
  exists: true,
  locked: false,
  live: {
    available: true,
    nodes: nodes.map((state, at) => ({ id: String(at), node: null, name: String(at), status: state as "running" })),
  },
});

test("the state of a lab counts its nodes by state, failed nodes first", () => {
  expect(stateText(entry, status("running", "stopped", "failed", "running"))).toBe("1 failed, 2 running, 1 stopped");
  expect(stateText(entry, status("running", "running"))).toBe("all 2 running");
  expect(stateText(entry, status("running"))).toBe("1 running");
  expect(stateText(entry, status())).toBe("no nodes");
});

test("a missing or unreadable lab is not shown as an empty lab", () => {
  expect(stateText({ ...entry, exists: false }, undefined)).toBe("not on the host");
  expect(stateText(entry, { ...status(), exists: false })).toBe("not on the host");
  expect(stateText(entry, { ...status(), exists: false, moved_to: "/old/a" })).toBe("moved to /old/a on the host");
  expect(stateText(entry, { ...status(), live: { available: false } })).toBe("host does not answer");
  expect(stateText(entry, undefined)).toBe("");
});

test("the last change shows its outcome only if it did not succeed", () => {
  const last = { job: "j", operation: "reconcileProject", outcome: "finished", finished_at: "2026-01-01T00:00:00Z" };
  expect(changeText(last)).toBe("applied");
  expect(changeText({ ...last, outcome: "rolled_back" })).toBe("applied: rolled back");
  expect(changeText({ ...last, operation: "endLease" })).toBe("lease ended");
  expect(changeText({ ...last, operation: "newProject" })).toBe("newProject");
  expect(changeText(undefined)).toBe("");
});
