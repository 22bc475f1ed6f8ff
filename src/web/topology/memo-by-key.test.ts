import { expect, test } from "vitest";
import { keepSame } from "./memo-by-key.ts";

test("a thing is made anew when what it is of changes, and only then", () => {
  let made = 0;
  const kept = keepSame<number>();
  const make = () => ++made;
  const of = { a: 1 };
  expect([kept("x", [of, 2], make), kept("x", [of, 2], make), kept("y", [of, 2], make)]).toEqual([1, 1, 2]);
  expect(kept("x", [{ a: 1 }, 2], make)).toBe(3);
  expect(kept("x", [of, 2], make)).toBe(4);
});
