import { expect, test } from "vitest";
import { concurrencyLimit } from "./concurrency-limit.ts";

function gateOf() {
  let open = () => {};
  let fail = (_why: Error) => {};
  const promise = new Promise<void>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { promise, open, fail };
}

test("a limited number of tasks runs at a time, in the order of the calls, also after a failure", async () => {
  const limit = concurrencyLimit(2);
  const { signal } = new AbortController();
  const log: string[] = [];
  const gates = ["a", "b", "c", "d"].map((name) => ({ name, gate: gateOf() }));
  const all = gates.map(({ name, gate }) =>
    limit(async () => {
      log.push(name);
      await gate.promise;
    }, signal),
  );
  await Promise.resolve();
  expect(log).toEqual(["a", "b"]);
  gates[1]!.gate.fail(new Error("b breaks"));
  await expect(all[1]).rejects.toThrow("b breaks");
  expect(log).toEqual(["a", "b", "c"]);
  for (const { gate } of gates) gate.open();
  await Promise.allSettled(all);
  expect(log).toEqual(["a", "b", "c", "d"]);
});

test("a task that is aborted while it waits is not started, and the next task runs", async () => {
  const limit = concurrencyLimit(1);
  const aborted = new AbortController();
  const first = gateOf();
  const running = limit(() => first.promise, new AbortController().signal);
  let started = false;
  const waiting = limit(async () => {
    started = true;
  }, aborted.signal);
  aborted.abort();
  first.open();
  await running;
  await expect(waiting).rejects.toThrow();
  expect(started).toBe(false);
  expect(await limit(async () => 7, new AbortController().signal)).toBe(7);
});
