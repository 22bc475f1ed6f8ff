import { expect, test } from "vitest";
import { durationText } from "./duration-text.ts";

test("a duration is formatted with its two largest units", () => {
  const second = 1000;
  const durations = [0, 999, 12 * second, 60 * second, 61 * second, 3600 * second, 3_725 * second, 90_000 * second, 10 * 86_400 * second];
  expect(durations.map(durationText)).toEqual(["0 s", "0 s", "12 s", "1 min", "1 min 1 s", "1 h", "1 h 2 min", "1 d 1 h", "10 d"]);
});
