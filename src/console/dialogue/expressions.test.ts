import { availableParallelism } from "node:os";
import { setImmediate } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { BadExpression, Expressions } from "./expressions.ts";

test("an answer at the end of a trial's time is not taken for another trial's", async () => {
  const expressions = new Expressions({ limitMs: 200 });
  // A busy machine may need longer to start the thread than a trial may take.
  await expect.poll(() => expressions.test("a", "a").catch(() => false), { timeout: 30_000 }).toBe(true);
  const trials = [expressions.test("a", "a"), expressions.test("b", "a"), expressions.test("a", "a"), expressions.test("b", "a")];
  // When this thread continues, both the end of the first trial's time and its answer are ready, and timers run first.
  await setImmediate();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
  const outcomes = await Promise.allSettled(trials);
  for (const [i, outcome] of outcomes.entries()) {
    if (outcome.status === "fulfilled") expect([i, outcome.value]).toEqual([i, i % 2 === 0]);
    else expect(outcome.reason).toBeInstanceOf(BadExpression);
  }
  await expressions.close();
});

const endless = ["^(a+)+b$", "a".repeat(40)] as const;

test("endless expressions of one user delay no trial of another", { timeout: 60_000 }, async () => {
  const expressions = new Expressions({ limitMs: 5_000 });
  const bobs = Array.from({ length: 12 }, () => expressions.test(...endless, "bob").catch((error: unknown) => error));
  let over = 0;
  for (const one of bobs) void one.then(() => over++);
  for (let i = 0; i < 20; i++) expect(await expressions.test("^a+$", "aaa", "alice")).toBe(true);
  expect(over).toBeLessThan(12);
  await expressions.close();
  for (const outcome of await Promise.all(bobs)) expect(outcome).toBeInstanceOf(Error);
});

test("users take turns if there are more users than threads", { timeout: 60_000 }, async () => {
  const expressions = new Expressions({ limitMs: 200, threads: 1 });
  const order: string[] = [];
  const trials = ["bob", "bob", "bob", "eve", "eve", "alice"].map(async (user) => {
    // On a busy machine a short expression may also take too long.
    const [source, text] = user === "alice" ? ["a", "a"] : endless;
    await expressions.test(source!, text!, user).catch(() => undefined);
    order.push(user);
  });
  await Promise.all(trials);
  expect(order).toEqual(["bob", "eve", "alice", "bob", "eve", "bob"]);
  await expressions.close();
});

test("an expression that the engine refuses when it is tried fails, and its thread goes on", async () => {
  const expressions = new Expressions({ limitMs: 60_000 });
  await expect(expressions.test("(", "a")).rejects.toBeInstanceOf(BadExpression);
  expect(await expressions.test("a", "a")).toBe(true);
  await expressions.close();
});

/** Tries an expression that takes twice as long with each additional letter, in a thread that has started but has not run it yet. */
async function slowTrial(letters: number, limitMs: number, before: () => Promise<unknown>): Promise<boolean> {
  const expressions = new Expressions({ limitMs });
  try {
    await expressions.test("a", "a");
    await before();
    return await expressions.test("^(a+)+b$", "a".repeat(letters));
  } finally {
    await expressions.close();
  }
}

test("an expression gets its processor time also on a busy machine", { timeout: 120_000 }, async () => {
  let letters = 16;
  let takenMs = 0;
  while (takenMs < 50) {
    let before = process.cpuUsage();
    await slowTrial(++letters, 60_000, async () => {
      before = process.cpuUsage();
    });
    const { user, system } = process.cpuUsage(before);
    takenMs = (user + system) / 1000;
  }

  const end = new Int32Array(new SharedArrayBuffer(4));
  const loop =
    'const { workerData, parentPort } = require("worker_threads"); parentPort.postMessage(0); while (Atomics.load(workerData, 0) === 0);';
  const others: Worker[] = [];
  const makeBusy = async () => {
    others.push(...Array.from({ length: 12 * availableParallelism() }, () => new Worker(loop, { eval: true, workerData: end })));
    await Promise.all(others.map((one) => new Promise((resolve) => one.once("message", resolve))));
  };
  try {
    // By the clock, the trial takes at least thirteen times as long as alone: more than the limit.
    expect(await slowTrial(letters, 6 * takenMs, makeBusy)).toBe(false);
  } finally {
    Atomics.store(end, 0, 1);
    await Promise.all(others.map((one) => one.terminate()));
  }
});
