import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalText, digestText } from "./canonical.ts";

const long = "a".repeat(2000);

test("the text of a digest contains each long text once", () => {
  const nodes = Array.from({ length: 500 }, () => ({ config: `${long}`, exec: [`b${long}`] }));
  expect(digestText(nodes).length).toBeLessThan(25_000);
  expect(digestText({ b: long, a: 1 })).toBe(digestText({ a: 1, b: long }));
});

test("two values have the same text of a digest if and only if they have the same canonical text", () => {
  const leaf = fc.constantFrom(long, `b${long}`, "#0", "#1", '"#0"', 0, null);
  const data = fc.letrec((tie) => ({
    value: fc.oneof(leaf, fc.array(tie("value"), { maxLength: 2 }), fc.dictionary(fc.constantFrom("a", "b"), tie("value"))),
  })).value;
  fc.assert(
    fc.property(data, data, (a, b) => {
      expect(digestText(a) === digestText(b)).toBe(canonicalText(a) === canonicalText(b));
    }),
    { numRuns: 500 },
  );
});
