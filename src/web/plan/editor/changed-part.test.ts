import fc from "fast-check";
import { expect, test } from "vitest";
import { changedPart } from "./changed-part.ts";

test("only the changed part of a text is replaced", () => {
  expect(changedPart("a: 1\nb: 2\nc: 3\n", "a: 1\nb: 20\nc: 3\n")).toEqual({ from: 9, to: 9, insert: "0" });
  expect(changedPart("a: 1\nb: 2\n", "a: 1\n")).toEqual({ from: 5, to: 10, insert: "" });
  expect(changedPart("same", "same")).toBeUndefined();
});

test("the replaced part makes the other text of any text", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "\n"), maxLength: 12 });
  fc.assert(
    fc.property(text, text, (before, after) => {
      const { from, to, insert } = changedPart(before, after) ?? { from: 0, to: 0, insert: "" };
      expect(before.slice(0, from) + insert + before.slice(to)).toBe(after);
    }),
  );
});
