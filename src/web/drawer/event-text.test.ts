import { expect, test } from "vitest";
import { logLine } from "./event-text.ts";

const at = "2026-01-01T12:00:00.000Z";

test("a node's line contains its state, its readiness and its exit code", () => {
  const line = (data: object) => logLine({ id: "1", at, type: "node", data });
  expect(line({ unique_key: "r1", status: "running", ready: false })).toMatchObject({ what: "r1", text: "running, not ready yet" });
  expect(line({ unique_key: "r1", status: "failed", exit_code: 137 })).toMatchObject({
    text: "failed, exit code 137 (SIGKILL)",
    isProblem: true,
  });
  expect(line({ unique_key: "r1", removed: true })).toMatchObject({ text: "deleted", isProblem: false });
});

test("a job has one line, when it has ended", () => {
  expect(logLine({ id: "1", at, type: "job", data: { operation: "reconcileProject", user: "ann", status: "running" } })).toBeUndefined();
  const error = { code: "host_error", error: "r1 did not start" };
  expect(
    logLine({ id: "2", at, type: "job", data: { operation: "reconcileProject", user: "ann", outcome: "failed", error } }),
  ).toMatchObject({
    what: "Apply",
    text: "failed, by ann: r1 did not start",
    isProblem: true,
  });
});

test("the lines of a lease say what happens to the lab, and when", () => {
  const line = (data: object) => logLine({ id: "1", at, type: "lab", data });
  const time = new Date(at).toLocaleTimeString(undefined, { timeStyle: "short" });
  expect(line({ lease: "warning", at_end: "stop", reason: "idle", ends_at: at })?.text).toBe(
    `the lease ends ${time}: the lab stops then, unless the lab is used`,
  );
  expect(line({ lease: "ended", at_end: "stop" })?.text).toBe("the lease has ended: its nodes are stopped");
  expect(line({ lease: "failed", at_end: "destroy", code: "lab_locked" })).toMatchObject({
    text: expect.stringContaining("lab_locked"),
    isProblem: true,
  });
});

test("heartbeats have no line", () => {
  expect(logLine({ id: "1", at, type: "heartbeat" })).toBeUndefined();
});
