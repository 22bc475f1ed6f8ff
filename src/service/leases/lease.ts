import type { LeaseState } from "../../contract/schemas/lease.ts";
import type { TestSummary } from "../../contract/schemas/tests.ts";
import type { LabLease } from "../../intent/lab/lab.ts";
import { timeText } from "../common/clock.ts";
import type { LabRecord, StoredLease } from "../store/store.ts";
import type { LabUses } from "./lab-uses.ts";

/*
 * Decisions about leases. Pure: times are parameters, in ms since the epoch.
 */

const minute = 60_000;

/** Why a lease ends: its time is over, or nobody used the lab. */
export type LeaseReason = "time" | "idle";

/** The step of a lease that is next. `at`: when it has to be looked at again, or when the lab ends. */
export type LeaseStep =
  | { readonly do: "wait"; readonly at: number }
  | { readonly do: "warn"; readonly step: 1 | 2; readonly at: number; readonly reason: LeaseReason }
  | { readonly do: "end"; readonly at: number; readonly reason: LeaseReason };

export interface LeaseTimes {
  readonly now: number;
  /** Last use of the lab. */
  readonly usedAt: number | undefined;
  /** Since when the service runs without a pause: a warning from before may have been given to nobody. */
  readonly awakeSince: number;
}

/** Returns the end of a lease without its warnings, and the time before the end at which each warning is due. */
function endOf(lease: StoredLease, usedAt: number | undefined) {
  const byTime = lease.for === undefined ? Number.POSITIVE_INFINITY : lease.begunAt + lease.for * 1_000;
  const used = Math.max(usedAt ?? 0, lease.begunAt);
  const byIdle = lease.idle === undefined ? Number.POSITIVE_INFINITY : used + lease.idle * 1_000;
  const isIdle = byIdle < byTime;
  const length = ((isIdle ? lease.idle : lease.for) ?? 0) * 1_000;
  return {
    at: Math.max(isIdle ? byIdle : byTime, lease.heldUntil ?? 0),
    reason: (isIdle ? "idle" : "time") as LeaseReason,
    first: Math.min(15 * minute, length / 2),
    last: Math.min(5 * minute, length / 4),
  };
}

/** Returns when the time of a lease is over, if its lab is used until then; Infinity without a lease or a time. */
export function leaseEnd(lease: StoredLease | undefined): number {
  return lease?.for === undefined ? Number.POSITIVE_INFINITY : Math.max(lease.begunAt + lease.for * 1_000, lease.heldUntil ?? 0);
}

/**
 * Returns the next step of a lease that has not ended. Each lease is warned of twice: 15 and 5 minutes before its end, or earlier for a short lease. It ends
 * only after its last warning, given without a pause of the service since then: a lease that was due while the machine slept is warned of first.
 */
export function nextStep(lease: StoredLease, { now, usedAt, awakeSince }: LeaseTimes): LeaseStep {
  const { at, reason, first, last } = endOf(lease, usedAt);
  if (now < at - first) return { do: "wait", at: at - first };
  const { warning } = lease;
  // A later end, a pause of the service and a clock that was set back make a warning void.
  const given = warning !== undefined && warning.endsAt >= at && warning.at >= awakeSince && warning.at <= now ? warning : undefined;
  if (now < at - last) {
    return given === undefined ? { do: "warn", step: 1, at, reason } : { do: "wait", at: at - last };
  }
  // After a pause, also a short lease leaves its users the time to extend it.
  const left = awakeSince > at - last ? Math.max(last, 5 * minute) : last;
  if (given?.step !== 2) return { do: "warn", step: 2, at: Math.max(at, now + left), reason };
  return now < given.endsAt ? { do: "wait", at: given.endsAt } : { do: "end", at: given.endsAt, reason };
}

/** Returns the lease of a lab after a change with this intent. A lease goes on if the intent has the same one, and has not ended. */
export function leaseAfter(known: StoredLease | undefined, wanted: LabLease | undefined, now: number): StoredLease | undefined {
  if (wanted === undefined) return undefined;
  if (known !== undefined && known.endedAt === undefined && isLeaseOf(known, wanted)) return known;
  return { ...wanted, begunAt: now };
}

/** Returns whether a stored lease is the one of an intent. */
export function isLeaseOf(known: StoredLease | undefined, wanted: LabLease | undefined): boolean {
  if (known === undefined || wanted === undefined) return known === wanted;
  return known.for === wanted.for && known.idle === wanted.idle && known.atEnd === wanted.atEnd;
}

/** Returns the lease of a lab that got its earlier intent back. An extension that was promised meanwhile stays. */
export function restoredLease(before: StoredLease | undefined, now: StoredLease | undefined): StoredLease | undefined {
  if (before === undefined || now === undefined) return before;
  if (isLeaseOf(before, now) && before.begunAt === now.begunAt) return now;
  return now.heldUntil === undefined ? before : { ...before, heldUntil: Math.max(before.heldUntil ?? 0, now.heldUntil) };
}

/** Returns the record of a lab whose nodes are started: a lease that has ended begins again. */
export function withLeaseBegun(record: LabRecord, now: number): LabRecord {
  if (record.lease?.endedAt === undefined) return record;
  const { for: time, idle, atEnd } = record.lease;
  return { ...record, lease: { ...(time !== undefined && { for: time }), ...(idle !== undefined && { idle }), atEnd, begunAt: now } };
}

/** Returns the lease with a later end. Its warnings are void. */
export function extended(lease: StoredLease, usedAt: number | undefined, now: number, ms: number): StoredLease {
  return { ...lease, heldUntil: Math.max(shownEnd(lease, usedAt), now) + ms };
}

/** Returns the end of a lease as it is announced. */
function shownEnd(lease: StoredLease, usedAt: number | undefined): number {
  const { at } = endOf(lease, usedAt);
  return Math.max(at, lease.warning !== undefined && lease.warning.endsAt >= at ? lease.warning.endsAt : 0);
}

/** Returns a lease as answers show it. */
export function leaseState(lease: StoredLease, usedAt: number | undefined): LeaseState {
  const { for: time, idle, atEnd, endedAt, failed } = lease;
  const ends = { ends_at: timeText(shownEnd(lease, usedAt)), reason: endOf(lease, usedAt).reason };
  return {
    at_end: atEnd,
    ...(time !== undefined && { for_ms: time * 1_000 }),
    ...(idle !== undefined && { idle_ms: idle * 1_000 }),
    ...(endedAt === undefined ? ends : { ended_at: timeText(endedAt) }),
    ...(failed !== undefined && { failed: { code: failed.code, error: failed.error } }),
  };
}

/** Returns whether the end of a lease has passed or was reached, warned of or not. */
export function isOver(lease: StoredLease | undefined, usedAt: number | undefined, now: number): boolean {
  return lease !== undefined && (lease.endedAt !== undefined || endOf(lease, usedAt).at <= now);
}

/** The last use, the lease and the last tests of a lab, as answers show them. */
export function usesOf(
  { uses }: { readonly uses: LabUses },
  record: LabRecord | undefined,
): { readonly used_at?: string; readonly lease?: LeaseState; readonly tests?: TestSummary } {
  if (record === undefined) return {};
  const used = uses.of(record);
  return {
    ...(used !== undefined && { used_at: timeText(used) }),
    ...(record.lease !== undefined && { lease: leaseState(record.lease, used) }),
    ...(record.tests !== undefined && { tests: { ...record.tests, at: timeText(record.tests.at) } }),
  };
}
