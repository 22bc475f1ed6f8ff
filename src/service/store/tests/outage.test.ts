import { expect, test } from "vitest";
import { ownSilence } from "../postgres/machines.ts";

test("the time in which the database was away does not count as silence of a machine, until all have reported again", () => {
  const outage = { endedAt: 100_000, ms: 12_000 };
  expect(ownSilence(14_000, undefined, 101_000)).toBe(14_000);
  expect(ownSilence(14_000, outage, 101_000)).toBe(2_000);
  // It was silent before.
  expect(ownSilence(60_000, outage, 101_000)).toBe(48_000);
  // It has reported since.
  expect(ownSilence(500, outage, 101_000)).toBe(500);
  expect(ownSilence(12_500, outage, 105_000)).toBe(5_000);
  expect(ownSilence(22_100, outage, 110_001)).toBe(22_100);
});
