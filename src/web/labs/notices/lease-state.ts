import { leaseText } from "../../../base/time/lease-text.ts";
import type { LeaseState } from "../../../contract/schemas/lease.ts";

const minute = 60_000;

/** Returns the end of a lease for people: "stops in 7h30m", "lease ended 6:36". */
export function leaseSummary(lease: LeaseState, now: number): string {
  return lease.ended_at === undefined ? leaseText(lease, now) : `lease ended ${momentText(lease.ended_at, now)}`;
}

/** Returns a warning if the lease ends soon or could not be ended; otherwise undefined. */
export function leaseWarning(lease: LeaseState, now: number): string | undefined {
  const { at_end: end, ends_at: endsAt, reason, failed } = lease;
  if (failed !== undefined) return `The lease of this lab could not be ended, and the service tries it again: ${failed.error}`;
  if (lease.ended_at !== undefined || endsAt === undefined || Date.parse(endsAt) - now > warningMs(lease)) return undefined;
  const what = end === "destroy" ? "destroys this lab" : "stops the nodes of this lab";
  return `The lease ${what} at ${momentText(endsAt, now)}${reason === "idle" ? " unless the lab is used" : ""}.`;
}

/** Time before the end at which the service gives its first warning, ms. */
function warningMs({ for_ms: forMs, idle_ms: idleMs, reason }: LeaseState): number {
  return Math.min(15 * minute, ((reason === "idle" ? idleMs : forMs) ?? 30 * minute) / 2);
}

/** Returns a time, with its day unless that is today. */
export function momentText(at: string, now: number): string {
  const time = new Date(at);
  const isToday = time.toDateString() === new Date(now).toDateString();
  return isToday
    ? time.toLocaleTimeString(undefined, { timeStyle: "short" })
    : time.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}
