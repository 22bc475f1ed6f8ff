import { expect, test, vi } from "vitest";
import { PacedBatch } from "./paced-batch.ts";

/** Work that ends when the test ends it. */
function heldWork() {
  const batches: { readonly keys: readonly string[]; readonly end: (error?: Error) => void }[] = [];
  const work = (keys: readonly string[]) =>
    new Promise<void>((resolve, reject) => batches.push({ keys, end: (error) => (error === undefined ? resolve() : reject(error)) }));
  return { batches, work, keys: () => batches.map((one) => one.keys) };
}

test("the first key is worked on at once, those that come meanwhile together, each once, and never two batches at a time", async () => {
  const { batches, work, keys } = heldWork();
  const batch = new PacedBatch<string>(work, { pace: () => ({ batches: 1, withinMs: 0 }), failed: () => {} });
  for (const key of ["a", "b", "c", "b", "a"]) batch.add(key);
  expect(keys()).toEqual([["a"]]);
  batches[0]!.end();
  await vi.waitUntil(() => batches.length > 1);
  expect(keys()).toEqual([["a"], ["b", "c", "a"]]);
  batches[1]!.end();
  await batch.close();
  expect(batches).toHaveLength(2);
});

test("batches of a busy time begin no sooner than the pace allows, and those of a quiet time at once", async () => {
  const begun: number[] = [];
  const batch = new PacedBatch<number>(async () => void begun.push(performance.now()), {
    pace: () => ({ batches: 2, withinMs: 30 }),
    failed: () => {},
  });
  for (let key = 0; begun.length < 6; key++) {
    batch.add(key);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await batch.close();
  // Timers may be early by a part of a millisecond.
  for (const [index, at] of begun.slice(2).entries()) expect(at - begun[index]!).toBeGreaterThan(28);
});

test("the pace may change between batches", async () => {
  let pace = { batches: 1, withinMs: 60_000 };
  const done: number[] = [];
  const batch = new PacedBatch<number>(async (keys) => void done.push(...keys), { pace: () => pace, failed: () => {} });
  batch.add(1);
  await vi.waitUntil(() => done.length === 1);
  pace = { batches: 3, withinMs: 60_000 };
  batch.add(2);
  await vi.waitUntil(() => done.length === 2);
  batch.add(3);
  await vi.waitUntil(() => done.length === 3);
  batch.add(4);
  await batch.close();
  expect(done).toEqual([1, 2, 3]);
});

test("a failure is reported with its keys, and later keys are worked on", async () => {
  const { batches, work, keys } = heldWork();
  const failed = vi.fn();
  const batch = new PacedBatch<string>(work, { pace: () => ({ batches: 1, withinMs: 0 }), failed });
  batch.add("a");
  batch.add("b");
  batches[0]!.end(new Error("no"));
  await vi.waitUntil(() => batches.length > 1);
  expect(failed.mock.calls).toEqual([[["a"], new Error("no")]]);
  expect(keys()).toEqual([["a"], ["b"]]);
  batch.add("c");
  const closed = batch.close();
  batches[1]!.end();
  await closed;
  expect(batches).toHaveLength(2);
});
