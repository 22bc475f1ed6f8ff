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

test("so many run at a time, in the order of asking, and a failure does not keep the others", async () => {
  const turn = concurrencyLimit(2);
  const { signal } = new AbortController();
  const log: string[] = [];
  const gates = ["a", "b", "c", "d"].map((name) => ({ name, gate: gateOf() }));
  const all = gates.map(({ name, gate }) =>
    turn(async () => {
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

test("what is given up while it waits does not begin, and lets the next go on", async () => {
  const turn = concurrencyLimit(1);
  const gone = new AbortController();
  const first = gateOf();
  const running = turn(() => first.promise, new AbortController().signal);
  let began = false;
  const waits = turn(async () => {
    began = true;
  }, gone.signal);
  gone.abort();
  first.open();
  await running;
  await expect(waits).rejects.toThrow();
  expect(began).toBe(false);
  expect(await turn(async () => 7, new AbortController().signal)).toBe(7);
});
