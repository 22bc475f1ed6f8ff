import { durationText } from "./duration.ts";

/** A lease as the API has it. */
export interface ShownLease {
  readonly at_end: "stop" | "destroy";
  readonly ends_at?: string;
  readonly reason?: "time" | "idle";
  readonly ended_at?: string;
}

/** Returns the end of a lease: "stops in 7h30m", "is destroyed in 20m if unused". */
export function leaseText({ at_end: end, ends_at: at, reason, ended_at: ended }: ShownLease, now: number): string {
  if (ended !== undefined) return `stopped ${ended}`;
  const left = at === undefined ? 0 : Date.parse(at) - now;
  const when = left <= 0 ? "now" : `in ${durationText(left / 1_000)}`;
  return `${end === "destroy" ? "is destroyed" : "stops"} ${when}${reason === "idle" ? " if unused" : ""}`;
}
