import { expect, test } from "vitest";
import { joinedOutage } from "../postgres/database.ts";
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

test("outages in a row are one", () => {
  const first = { endedAt: 10_000, ms: 4_000 };
  expect(joinedOutage(undefined, first)).toEqual(first);
  expect(joinedOutage(first, { endedAt: 17_000, ms: 5_000 })).toEqual({ endedAt: 17_000, ms: 11_000 });
  expect(joinedOutage(first, { endedAt: 40_000, ms: 5_000 })).toEqual({ endedAt: 40_000, ms: 5_000 });
});
