import { expect, test } from "vitest";
import { logLine } from "./event-text.ts";

const at = "2026-01-01T12:00:00.000Z";

test("a node's line contains its state, its readiness and its exit code", () => {
  const line = (data: object) => logLine({ id: "1", at, type: "node", data });
  expect(line({ unique_key: "r1", status: "running", ready: false })).toMatchObject({ what: "r1", text: "running, not ready yet" });
  expect(line({ unique_key: "r1", status: "failed", exit_code: 137 })).toMatchObject({ text: "failed, exit code 137", isProblem: true });
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

test("heartbeats have no line", () => {
  expect(logLine({ id: "1", at, type: "heartbeat" })).toBeUndefined();
});
