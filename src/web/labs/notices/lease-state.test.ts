import { expect, test } from "vitest";
import { leaseSummary, leaseWarning, momentText } from "./lease-state.ts";

const now = new Date(2026, 0, 1, 12).getTime();
const at = (minutes: number) => new Date(now + minutes * 60_000).toISOString();
const hour = 3_600_000;

test("the end of a lease is shown in the user's time, with the day if it is another one", () => {
  expect(leaseSummary({ at_end: "stop", ends_at: at(90), reason: "time" }, now)).toBe("stops in 1h30m");
  const time = new Date(at(-10)).toLocaleTimeString(undefined, { timeStyle: "short" });
  expect(leaseSummary({ at_end: "stop", ended_at: at(-10) }, now)).toBe(`lease ended ${time}`);
  expect(momentText(at(-24 * 60), now)).toContain("2025");
});

test("a lease warns when the service does: 15 minutes before its end, or half of a short lease", () => {
  const lease = { at_end: "stop", for_ms: 8 * hour, reason: "time" } as const;
  expect(leaseWarning({ ...lease, ends_at: at(16) }, now)).toBeUndefined();
  expect(leaseWarning({ ...lease, ends_at: at(14) }, now)).toMatch(/^The lease stops the nodes of this lab at /);
  const short = { ...lease, for_ms: hour / 6, ends_at: at(6) };
  expect(leaseWarning(short, now)).toBeUndefined();
  expect(leaseWarning({ ...short, ends_at: at(4), at_end: "destroy" }, now)).toMatch(/^The lease destroys this lab at /);
  expect(leaseWarning({ at_end: "stop", idle_ms: hour, reason: "idle", ends_at: at(5) }, now)).toContain("unless the lab is used");
});

test("a lease that could not be ended says why, and an ended lease does not warn", () => {
  expect(leaseWarning({ at_end: "stop", ends_at: at(-1), failed: { code: "lab_locked", error: "the lab is locked" } }, now)).toContain(
    "the lab is locked",
  );
  expect(leaseWarning({ at_end: "stop", ended_at: at(-1) }, now)).toBeUndefined();
});
