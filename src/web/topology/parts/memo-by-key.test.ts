import { expect, test } from "vitest";
import { memoByKey } from "./memo-by-key.ts";

test("a value is computed again when its inputs change, and only then", () => {
  let computed = 0;
  const memo = memoByKey<number>();
  const compute = () => ++computed;
  const input = { a: 1 };
  expect([memo("x", [input, 2], compute), memo("x", [input, 2], compute), memo("y", [input, 2], compute)]).toEqual([1, 1, 2]);
  expect(memo("x", [{ a: 1 }, 2], compute)).toBe(3);
  expect(memo("x", [input, 2], compute)).toBe(4);
});
