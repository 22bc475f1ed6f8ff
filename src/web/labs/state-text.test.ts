import { expect, test } from "vitest";
import type { LabEntry, StatusData } from "../../contract/schemas/observe.ts";
import { changeWords, stateWords } from "./state-text.ts";

const entry: LabEntry = { lab: "/a", name: "a", mode: "create", exists: true };
const status = (...nodes: readonly string[]): StatusData => ({
  lab: "/a",
  name: "a",
  mode: "create",
  exists: true,
  locked: false,
  live: {
    available: true,
    nodes: nodes.map((word, at) => ({ id: String(at), node: null, name: String(at), status: word as "running" })),
  },
});

test("a lab's state is told by its nodes, what went wrong first", () => {
  expect(stateWords(entry, status("running", "stopped", "failed", "running"))).toBe("1 failed, 2 running, 1 stopped");
  expect(stateWords(entry, status("running", "running"))).toBe("all 2 running");
  expect(stateWords(entry, status("running"))).toBe("1 running");
  expect(stateWords(entry, status())).toBe("no nodes");
});

test("what is not there, or cannot be read, is not told as an empty lab", () => {
  expect(stateWords({ ...entry, exists: false }, undefined)).toBe("not on the host");
  expect(stateWords(entry, { ...status(), exists: false })).toBe("not on the host");
  expect(stateWords(entry, { ...status(), live: { available: false } })).toBe("its host does not answer");
  expect(stateWords(entry, undefined)).toBe("");
});

test("the last change tells how it ended only where it did not end well", () => {
  const last = { job: "j", operation: "reconcileProject", outcome: "finished", finished_at: "2026-01-01T00:00:00Z" };
  expect(changeWords(last)).toBe("applied");
  expect(changeWords({ ...last, outcome: "rolled_back" })).toBe("applied: rolled back");
  expect(changeWords({ ...last, operation: "newProject" })).toBe("newProject");
  expect(changeWords(undefined)).toBe("");
});
