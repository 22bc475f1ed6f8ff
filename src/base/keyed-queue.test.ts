import { expect, test } from "vitest";
import { KeyedQueue, SerialQueue } from "./keyed-queue.ts";

/** Work that lasts until `end` is called, and records its start. */
function slow(begun: string[], name: string) {
  let end = (_name: string) => {};
  let fail = (_error: Error) => {};
  const promise = new Promise<string>((resolve, reject) => {
    end = resolve;
    fail = reject;
  });
  const work = () => {
    begun.push(name);
    return promise;
  };
  return { work, end: () => end(name), fail: () => fail(new Error(name)) };
}

const tick = () => new Promise((resolve) => setImmediate(resolve));

test("a serial queue runs work one after the other, also after a failure", async () => {
  const queue = new SerialQueue();
  const begun: string[] = [];
  const [a, b] = [slow(begun, "a"), slow(begun, "b")];
  const [first, second] = [queue.run(a.work), queue.run(b.work)];
  await tick();
  expect([begun, queue.length]).toEqual([["a"], 2]);
  a.fail();
  await expect(first).rejects.toThrow("a");
  await tick();
  expect([begun, queue.length]).toEqual([["a", "b"], 1]);
  b.end();
  expect(await second).toBe("b");
  expect(queue.length).toBe(0);
});

test("a keyed queue runs work of different keys at the same time, and work of one key in order", async () => {
  const queue = new KeyedQueue();
  const begun: string[] = [];
  const [a, b, c] = [slow(begun, "a"), slow(begun, "b"), slow(begun, "c")];
  const all = Promise.all([queue.run("x", a.work), queue.run("x", b.work), queue.run("y", c.work)]);
  await tick();
  expect(begun).toEqual(["a", "c"]);
  a.end();
  await tick();
  expect(begun).toEqual(["a", "c", "b"]);
  b.end();
  c.end();
  expect(await all).toEqual(["a", "b", "c"]);
});

test("a key is busy until its last work ends, and idle() waits for that", async () => {
  const queue = new KeyedQueue<number>();
  const work = slow([], "a");
  const running = queue.run(1, work.work);
  let isIdle = false;
  const idle = Promise.all([queue.idle(), queue.idle(1)]).then(() => (isIdle = true));
  await queue.idle(2);
  await tick();
  expect([queue.isBusy(1), queue.isBusy(2), isIdle]).toEqual([true, false, false]);
  work.end();
  await running;
  await idle;
  expect([queue.isBusy(1), isIdle]).toEqual([false, true]);
});

test("many short pieces of work with one key never overlap", async () => {
  const queue = new KeyedQueue();
  let running = 0;
  let max = 0;
  const piece = async () => {
    max = Math.max(max, ++running);
    await null;
    running--;
  };
  for (let round = 0; round < 20; round++) {
    await Promise.all([queue.run("x", piece), queue.run("x", async () => undefined), queue.run("x", piece)]);
    void queue.run("x", piece);
  }
  await queue.idle();
  expect(max).toBe(1);
});
