import { expect, test } from "vitest";
import { type LabEvent, showEvent } from "../show-event.ts";

const line = (data: object) =>
  showEvent((_style, text) => text, { id: 1, at: "2026-01-01T00:00:00Z", type: "lab", lab: "/x", data } as unknown as LabEvent);

test("events of leases have their content", () => {
  const ends_at = "2026-01-01T00:05:00Z";
  expect(line({ lease: "warning", at_end: "destroy", reason: "time", ends_at })).toMatch(
    /\/x {2}lease ends at .*: the lab is destroyed then; labwright lease extend$/,
  );
  expect(line({ lease: "warning", at_end: "stop", reason: "idle", ends_at })).toContain("the lab is stopped then, unless the lab is used");
  expect(line({ lease: "ended", at_end: "stop" })).toMatch(/lease has ended: the lab is stopped$/);
  expect(line({ lease: "failed", at_end: "stop", code: "lab_locked" })).toMatch(/lease could not end \(lab_locked\): the lab runs on$/);
  expect(line({ change: "adopted" })).toMatch(/lab adopted$/);
});
