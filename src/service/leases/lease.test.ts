import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { StoredLease } from "../store/store.ts";
import { extended, isOver, type LeaseStep, leaseAfter, leaseState, nextStep, restoredLease, withLeaseBegun } from "./lease.ts";

const hour = 3_600_000;
const minute = 60_000;
const begunAt = Date.UTC(2026, 0, 1);
const timed: StoredLease = { for: 8 * 3_600, atEnd: "stop", begunAt };
const idle: StoredLease = { idle: 2 * 3_600, atEnd: "destroy", begunAt };
const step = (lease: StoredLease, now: number, usedAt?: number, awakeSince = 0) =>
  nextStep(lease, { now: begunAt + now, usedAt, awakeSince });
const warned = (lease: StoredLease, now: number, found: LeaseStep): StoredLease =>
  found.do === "warn" ? { ...lease, warning: { step: found.step, at: begunAt + now, endsAt: found.at } } : lease;

describe("the steps of a lease", () => {
  it("it is warned of 15 and 5 minutes before its end, and then ends", () => {
    expect(step(timed, 0)).toEqual({ do: "wait", at: begunAt + 8 * hour - 15 * minute });
    const first = step(timed, 8 * hour - 15 * minute);
    expect(first).toEqual({ do: "warn", step: 1, at: begunAt + 8 * hour, reason: "time" });
    const once = warned(timed, 8 * hour - 15 * minute, first);
    expect(step(once, 8 * hour - 14 * minute)).toEqual({ do: "wait", at: begunAt + 8 * hour - 5 * minute });
    const second = step(once, 8 * hour - 5 * minute);
    expect(second).toEqual({ do: "warn", step: 2, at: begunAt + 8 * hour, reason: "time" });
    const twice = warned(once, 8 * hour - 5 * minute, second);
    expect(step(twice, 8 * hour - 1)).toEqual({ do: "wait", at: begunAt + 8 * hour });
    expect(step(twice, 8 * hour)).toEqual({ do: "end", at: begunAt + 8 * hour, reason: "time" });
  });

  it("a short lease is warned of at its half and its last quarter", () => {
    const short: StoredLease = { for: 240, atEnd: "stop", begunAt };
    expect(step(short, 2 * minute)).toMatchObject({ do: "warn", step: 1 });
    expect(step(short, 3 * minute)).toMatchObject({ do: "warn", step: 2, at: begunAt + 4 * minute });
  });

  it("a lease that was due while the machine slept is warned of first, and ends 5 minutes later", () => {
    const late = step(timed, 30 * hour);
    expect(late).toEqual({ do: "warn", step: 2, at: begunAt + 30 * hour + 5 * minute, reason: "time" });
    const after = warned(timed, 30 * hour, late);
    expect(step(after, 30 * hour + 4 * minute)).toEqual({ do: "wait", at: begunAt + 30 * hour + 5 * minute });
    expect(step(after, 30 * hour + 5 * minute)).toMatchObject({ do: "end" });
  });

  it("a short lease that was due while the service was away ends 5 minutes after its warning, too", () => {
    const short: StoredLease = { for: 60, atEnd: "destroy", begunAt };
    const late = step(short, 2 * minute, undefined, begunAt + 2 * minute);
    expect(late).toMatchObject({ do: "warn", step: 2, at: begunAt + 7 * minute });
    const after = warned(short, 2 * minute, late);
    expect(step(after, 7 * minute - 1, undefined, begunAt + 2 * minute)).toMatchObject({ do: "wait" });
    expect(step(after, 7 * minute, undefined, begunAt + 2 * minute)).toMatchObject({ do: "end" });
  });

  it("a warning from before a pause of the service is repeated, and so is one of a clock that was set back", () => {
    const at = 8 * hour - 5 * minute;
    const before: StoredLease = { ...timed, warning: { step: 2, at: begunAt + at, endsAt: begunAt + 8 * hour } };
    expect(step(before, 20 * hour, undefined, begunAt + 20 * hour)).toMatchObject({
      do: "warn",
      step: 2,
      at: begunAt + 20 * hour + 5 * minute,
    });
    expect(step(before, at - 1_000)).toMatchObject({ do: "warn", step: 1 });
  });

  it("use moves the end of an idle lease, and makes its warnings void", () => {
    expect(step(idle, 2 * hour - 15 * minute)).toMatchObject({ do: "warn", step: 1, reason: "idle" });
    const before: StoredLease = { ...idle, warning: { step: 2, at: begunAt + 2 * hour - 5 * minute, endsAt: begunAt + 2 * hour } };
    expect(step(before, 2 * hour, begunAt + 2 * hour - minute)).toEqual({ do: "wait", at: begunAt + 4 * hour - 16 * minute });
    expect(step(before, 4 * hour - 6 * minute, begunAt + 2 * hour - minute)).toMatchObject({ do: "warn", step: 2 });
  });

  it("use does not move the end of the time", () => {
    expect(step(timed, 0, begunAt + hour)).toEqual({ do: "wait", at: begunAt + 8 * hour - 15 * minute });
  });

  it("no lab ends without a last warning that was given at least a quarter of its lease, at most 5 minutes, before, in one run of the service", () => {
    const looks = fc.array(fc.record({ after: fc.integer({ min: 1, max: 40 * minute }), paused: fc.boolean(), used: fc.boolean() }), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(looks, fc.constantFrom(timed, idle, { ...timed, idle: 1_800 }), (all, lease) => {
        let [now, current, awakeSince, usedAt, last] = [begunAt, lease, begunAt, begunAt, undefined as number | undefined];
        for (const { after, paused, used } of all) {
          now += after;
          if (paused) [awakeSince, last] = [now, undefined];
          if (used) usedAt = now;
          const found = nextStep(current, { now, usedAt, awakeSince });
          if (found.do === "end") {
            expect(last).toBeLessThanOrEqual(now - 5 * minute);
            expect(isOver(current, usedAt, now)).toBe(true);
            return;
          }
          if (found.do !== "warn") continue;
          current = warned(current, now - begunAt, found);
          if (found.step === 2) last = now;
        }
      }),
    );
  });
});

describe("the lease of a lab", () => {
  it("goes on with the same lease in the intent, begins with another one, and after its end", () => {
    const wanted = { for: 8 * 3_600, atEnd: "stop" } as const;
    expect(leaseAfter(timed, wanted, begunAt + hour)).toBe(timed);
    expect(leaseAfter(timed, { ...wanted, for: 60 }, begunAt + hour)).toEqual({ for: 60, atEnd: "stop", begunAt: begunAt + hour });
    expect(leaseAfter({ ...timed, endedAt: begunAt + 1 }, wanted, begunAt + hour)).toEqual({ ...timed, begunAt: begunAt + hour });
    expect(leaseAfter(timed, undefined, begunAt)).toBeUndefined();
  });

  it("an extension moves the end that is announced", () => {
    const longer = extended(timed, undefined, begunAt + hour, 2 * hour);
    expect(leaseState(longer, undefined)).toMatchObject({ ends_at: new Date(begunAt + 10 * hour).toISOString() });
    const late: StoredLease = { ...timed, warning: { step: 2, at: begunAt + 30 * hour, endsAt: begunAt + 30 * hour + 5 * minute } };
    expect(extended(late, undefined, begunAt + 30 * hour, hour).heldUntil).toBe(begunAt + 31 * hour + 5 * minute);
    expect(extended(idle, begunAt, begunAt + 3 * hour, hour).heldUntil).toBe(begunAt + 4 * hour);
  });

  it("a change that is taken back keeps an extension that was promised meanwhile", () => {
    const until = begunAt + 20 * hour;
    expect(restoredLease(timed, { ...timed, heldUntil: until })).toEqual({ ...timed, heldUntil: until });
    expect(restoredLease(timed, { for: 60, atEnd: "stop", begunAt, heldUntil: until })).toEqual({ ...timed, heldUntil: until });
    expect(restoredLease(undefined, timed)).toBeUndefined();
    expect(restoredLease(timed, undefined)).toBe(timed);
  });

  it("a start after its end begins it again; a start before does not", () => {
    const record = { lease: timed } as Parameters<typeof withLeaseBegun>[0];
    expect(withLeaseBegun(record, begunAt + hour)).toBe(record);
    expect(withLeaseBegun({ ...record, lease: { ...timed, endedAt: begunAt, heldUntil: 1 } }, begunAt + hour).lease).toEqual({
      ...timed,
      begunAt: begunAt + hour,
    });
  });
});
