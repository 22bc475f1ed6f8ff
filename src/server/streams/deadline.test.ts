import { describe, expect, test } from "vitest";
import { type OperationRow, operations } from "../../contract/operations.ts";
import { deadlineOf, inTime } from "./deadline.ts";

describe("the deadline of an operation", () => {
  test.each(Object.entries<OperationRow>(operations))("of %s is the time-out of its row", (_id, row) => {
    expect(deadlineOf(row, undefined, {})).toBe(row.timeoutMs);
    expect(deadlineOf(row, "respond-async", undefined)).toBe(row.timeoutMs);
  });

  test.each<[string, number]>([
    ["wait=1", 1_000],
    ["respond-async, wait=90", 90_000],
    ['wait="7"; x=y', 7_000],
    ["WAIT = 5", 5_000],
    ["wait=0", 1_000],
    ["wait=999999999", 86_400_000],
    ["wait=-5", 15_000],
    ["wait=soon", 15_000],
    ["await=5", 15_000],
  ])("with Prefer: %s is %d ms", (prefer, ms) => {
    expect(deadlineOf({ timeoutMs: 15_000 }, prefer, undefined)).toBe(ms);
  });

  test.each<[object, number]>([
    [{ timeout_ms: 1_000 }, 15_000],
    [{ timeout_ms: 60_000 }, 62_000],
    [{ command: "show clock" }, 17_000],
    [{ command: "show clock", timeout_ms: 20_000 }, 22_000],
    [{ targets: [{ node: "a" }, { node: "b", timeout_ms: 40_000 }] }, 42_000],
    [{ timeout_ms: 50_000, targets: [{ node: "a" }] }, 52_000],
    [{ steps: [{ send: "x" }, { timeout_ms: 30_000 }] }, 47_000],
    [{ steps: [null], targets: "x" }, 17_000],
  ])("leaves console commands of %j the time that they ask for", (body, ms) => {
    expect(deadlineOf({ timeoutMs: 15_000 }, undefined, body)).toBe(ms);
  });
});

test("a call that still runs at the shutdown fails with shutting_down, and names the job of the change", async () => {
  for (const [job, data] of [
    [undefined, undefined],
    ["4711", { job: "4711" }],
  ]) {
    const late = new AbortController();
    const cutOffs = new Set<() => void>();
    const answer = inTime(undefined, { late, cutOffs, job: () => job as string | undefined }, new Promise(() => {}), () => {});
    for (const cutOff of [...cutOffs]) cutOff();
    expect(cutOffs.size).toBe(0);
    await expect(answer).rejects.toMatchObject({ code: "shutting_down", data });
    expect(late.signal.aborted).toBe(true);
  }
});

test("a call over its deadline fails with host_timeout, names the job that continues, and its outcome is not lost", async () => {
  const late = new AbortController();
  const outcomes: unknown[] = [];
  let fail = (_error: Error): void => {};
  const work = new Promise<never>((_resolve, reject) => {
    fail = reject;
  });
  const answer = inTime(5, { late, cutOffs: new Set<() => void>(), job: () => "4711" }, work, (outcome) => outcomes.push(outcome.status));
  await expect(answer).rejects.toMatchObject({ code: "host_timeout", data: { job: "4711" } });
  expect(late.signal.aborted).toBe(true);
  fail(new Error("much later"));
  await expect.poll(() => outcomes).toEqual(["rejected"]);
});

test("a result or a failure before the deadline is returned unchanged", async () => {
  const timed = { late: new AbortController(), cutOffs: new Set<() => void>(), job: () => undefined };
  await expect(inTime(60_000, timed, Promise.resolve(7), () => {})).resolves.toBe(7);
  await expect(inTime(60_000, timed, Promise.reject(new Error("no")), () => {})).rejects.toThrow("no");
  expect(timed.late.signal.aborted).toBe(false);
});
