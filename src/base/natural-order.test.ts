import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareNatural, inNaturalOrder } from "./natural-order.ts";

describe("natural order", () => {
  it("compares digits as numbers and everything else by code unit", () => {
    const names = ["r10", "r2", "r1", "r02", "R1", "r2:eth10", "r2:eth9", "", "r", "9", "10", "a1b2", "a1b10"];
    expect(names.sort(compareNatural)).toEqual([
      "",
      "9",
      "10",
      "R1",
      "a1b2",
      "a1b10",
      "r",
      "r1",
      "r02",
      "r2",
      "r2:eth9",
      "r2:eth10",
      "r10",
    ]);
  });

  it("is a total order, in which only equal names are equal", () => {
    const name = fc.stringMatching(/^[a0-2]{0,6}$/);
    fc.assert(
      fc.property(name, name, name, (a, b, c) => {
        expect(compareNatural(a, b) === 0).toBe(a === b);
        expect(Math.sign(compareNatural(a, b))).toBe(-Math.sign(compareNatural(b, a)) + 0);
        if (compareNatural(a, b) <= 0 && compareNatural(b, c) <= 0) expect(compareNatural(a, c)).toBeLessThanOrEqual(0);
      }),
      { numRuns: 1000 },
    );
  });

  it("sorts items by name into a copy", () => {
    const names = ["r10", "sw1", "r2", "r1", "h1"];
    expect(inNaturalOrder(names, (name) => name)).toEqual(["h1", "r1", "r2", "r10", "sw1"]);
    expect(names[0]).toBe("r10");
  });
});
