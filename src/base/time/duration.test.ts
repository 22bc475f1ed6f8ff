import fc from "fast-check";
import { expect, it } from "vitest";
import { durationText, readDuration } from "./duration.ts";

it("reads days, hours and minutes in this order", () => {
  expect(["8h", "90m", "2d", "1h30m", "1d1h1m"].map(readDuration)).toEqual([28_800, 5_400, 172_800, 5_400, 90_060]);
  for (const text of ["", "8", "8 h", "30m1h", "-1h", "1.5h", "8H", "1s", "999999h", "1h1h", " 8h", "8h\n"])
    expect(readDuration(text), text).toBeUndefined();
});

it("writes what it reads", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10_000_000 }), (minutes) => {
      expect(readDuration(durationText(minutes * 60))).toBe(minutes * 60);
    }),
  );
  expect(durationText(5_400)).toBe("1h30m");
  expect(durationText(1)).toBe("1m");
});
