import { expect, test } from "vitest";
import { Gathering } from "./gathering.ts";

test("while it works on some the next gather, and nothing is left when it is done", async () => {
  const { begun, work, end } = slow();
  const numbers = new Gathering(work);
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

test("a few are not begun with before it is asked to be done", async () => {
  const { begun, work, end } = slow();
  const numbers = new Gathering(work, 3);
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

test("none at all are no work", async () => {
  const { begun, work } = slow();
  const numbers = new Gathering(work);
  numbers.add([]);
  await numbers.done();
  expect(begun).toEqual([]);
});

test("a failure is told, and no more is worked on", async () => {
  const begun: (readonly number[])[] = [];
  const numbers = new Gathering<number>(async (some) => {
    begun.push(some);
    throw new Error("refused");
  });
  numbers.add([1]);
  await expect(numbers.done()).rejects.toThrow("refused");
  numbers.add([2]);
  await expect(numbers.done()).rejects.toThrow("refused");
  expect(begun).toEqual([[1]]);
});

/** Work that takes until it is told to end. */
function slow() {
  const begun: (readonly number[])[] = [];
  const ends: (() => void)[] = [];
  const work = (some: readonly number[]) => {
    begun.push(some);
    return new Promise<void>((resolve) => ends.push(resolve));
  };
  return { begun, work, end: () => ends.shift()!() };
}
