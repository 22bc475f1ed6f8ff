import { expect, test } from "vitest";
import { Batcher } from "./batcher.ts";

test("items that arrive while a batch is worked on form the next batch, and done() leaves none", async () => {
  const { begun, work, end } = slow();
  const numbers = new Batcher(work);
  numbers.add([1, 2]);
  numbers.add([3]);
  numbers.add([4]);
  expect(begun).toEqual([[1, 2]]);
  const done = numbers.done();
  end();
  await expect
    .poll(() => begun)
    .toEqual([
      [1, 2],
      [3, 4],
    ]);
  end();
  await done;
  numbers.add([5]);
  expect(begun[2]).toEqual([5]);
  end();
  await numbers.done();
});

test("a batch below the minimum size waits for done()", async () => {
  const { begun, work, end } = slow();
  const numbers = new Batcher(work, 3);
  numbers.add([1, 2]);
  expect(begun).toEqual([]);
  numbers.add([3]);
  expect(begun).toEqual([[1, 2, 3]]);
  numbers.add([4]);
  end();
  const done = numbers.done();
  await expect.poll(() => begun).toEqual([[1, 2, 3], [4]]);
  end();
  await done;
});

test("adding no items starts no work", async () => {
  const { begun, work } = slow();
  const numbers = new Batcher(work);
  numbers.add([]);
  await numbers.done();
  expect(begun).toEqual([]);
});

test("done() throws the failure of the work, and no further batch is started", async () => {
  const begun: (readonly number[])[] = [];
  const numbers = new Batcher<number>(async (batch) => {
    begun.push(batch);
    throw new Error("refused");
  });
  numbers.add([1]);
  await expect(numbers.done()).rejects.toThrow("refused");
  numbers.add([2]);
  await expect(numbers.done()).rejects.toThrow("refused");
  expect(begun).toEqual([[1]]);
});

/** Work that lasts until `end` is called. */
function slow() {
  const begun: (readonly number[])[] = [];
  const ends: (() => void)[] = [];
  const work = (batch: readonly number[]) => {
    begun.push(batch);
    return new Promise<void>((resolve) => ends.push(resolve));
  };
  return { begun, work, end: () => ends.shift()!() };
}
