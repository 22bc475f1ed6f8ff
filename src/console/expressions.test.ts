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

test("an expression gets its processor time also on a busy machine", { timeout: 120_000 }, async () => {
  const expressions = new Expressions({ limitMs: 60_000 });
  /** Takes twice as long with each additional letter. */
  const slow = (letters: number) => expressions.test("^(a+)+b$", "a".repeat(letters));
  let letters = 16;
  let takenMs = 0;
  while (takenMs < 50) {
    const before = process.cpuUsage();
    await slow(++letters);
    const { user, system } = process.cpuUsage(before);
    takenMs = (user + system) / 1000;
  }
  await expressions.close();

  const end = new Int32Array(new SharedArrayBuffer(4));
  const loop =
    'const { workerData, parentPort } = require("worker_threads"); parentPort.postMessage(0); while (Atomics.load(workerData, 0) === 0);';
  const others = Array.from({ length: 20 * availableParallelism() }, () => new Worker(loop, { eval: true, workerData: end }));
  await Promise.all(others.map((one) => new Promise((resolve) => one.once("message", resolve))));
  // A new thread takes several times as long as one that has run the expression before, because its engine has not compiled it yet.
  const limited = new Expressions({ limitMs: 24 * takenMs });
  try {
    expect(await limited.test("^(a+)+b$", "a".repeat(letters))).toBe(false);
  } finally {
    Atomics.store(end, 0, 1);
    await Promise.all(others.map((one) => one.terminate()));
    await limited.close();
  }
});
