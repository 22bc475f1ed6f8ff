import fc from "fast-check";
import { expect, test } from "vitest";
import { lineDiff } from "./line-diff.ts";

const diff = (before: string, after: string) => lineDiff(before.split("\n"), after.split("\n"));
const shown = (before: string, after: string) => diff(before, after).map(({ sign, text }) => sign + text);

test("a common line is kept, and a changed line is removed and added", () => {
  expect(shown("a\nb\nc\nd", "a\nx\nc\nd\ne")).toEqual([" a", "-b", "+x", " c", " d", "+e"]);
  expect(shown("a\nb", "a\nb")).toEqual([" a", " b"]);
});

test("both texts can be restored from their difference", () => {
  const text = fc.array(fc.constantFrom("a", "b", "c", "")).map((lines) => lines.join("\n"));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = diff(before, after);
      const of = (sign: string) =>
        lines
          .filter((line) => line.sign === " " || line.sign === sign)
          .map((line) => line.text)
          .join("\n");
      expect([of("-"), of("+")]).toEqual([before, after]);
    }),
  );
});

test("texts with thousands of different lines are shown as replaced", () => {
  const many = (word: string) => Array.from({ length: 5000 }, (_, at) => `${word}${at}`).join("\n");
  expect(diff(`same\n${many("a")}`, `same\n${many("b")}`)).toHaveLength(10_001);
});
