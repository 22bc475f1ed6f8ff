import { expect, test } from "vitest";
import { clockTime, secondsSince } from "./packet-time.ts";

test("times are formatted with microseconds", () => {
  expect(secondsSince("2026-11-21T05:46:04Z", "2026-11-21T05:46:04.971957Z")).toBe("0.971957");
  expect(secondsSince("2026-11-21T05:46:04.900Z", "2026-11-21T05:47:05.000001Z")).toBe("60.100001");
  expect(secondsSince("2026-11-21T05:46:04.900Z", "2026-11-21T05:46:04.800Z")).toBe("-0.100000");
  expect(clockTime("2026-11-21T05:46:04.000057Z")).toMatch(/^\d\d:\d\d:04\.000057$/);
});
