import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { EndlessExpression, Expressions } from "./expressions.ts";

test("an answer that comes with the end of its time is of no other trial", async () => {
  const expressions = new Expressions(200);
  // A busy machine may need longer to start the thread than a trial may take.
  await expect.poll(() => expressions.test("a", "a").catch(() => false), { timeout: 30_000 }).toBe(true);
  const trials = [expressions.test("a", "a"), expressions.test("b", "a"), expressions.test("a", "a"), expressions.test("b", "a")];
  // The end of the first trial's time and its answer are both there when this thread looks again, and it looks at timers first.
  await setImmediate();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
  const outcomes = await Promise.allSettled(trials);
  for (const [i, outcome] of outcomes.entries()) {
    if (outcome.status === "fulfilled") expect([i, outcome.value]).toEqual([i, i % 2 === 0]);
    else expect(outcome.reason).toBeInstanceOf(EndlessExpression);
  }
  await expressions.close();
});
