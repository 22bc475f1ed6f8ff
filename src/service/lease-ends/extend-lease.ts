import type { LeaseData, LeasePayload } from "../../contract/schemas/lease.ts";
import { leaseLimits } from "../../intent/lab/lab.ts";
import type { Caller } from "../common/call.ts";
import { badRequest, labNotFound } from "../common/refusals.ts";
import { addressManaged } from "../context/address.ts";
import type { ClockPart, JobsPart, LookupParts, UsesPart } from "../context/parts.ts";
import { endLeaseOperation } from "../jobs/jobs.ts";
import { extended, leaseState } from "../leases/lease.ts";

/** Makes the lease of a lab end later. Throws bad_request for a lab without a lease, and lab_busy while the lease ends. */
export async function extendLease(
  context: LookupParts & JobsPart & ClockPart & UsesPart,
  caller: Caller,
  payload: LeasePayload,
): Promise<LeaseData> {
  const { path } = await addressManaged(context, caller, payload, "operate");
  const { min, max } = leaseLimits;
  const { extend_ms: ms } = payload;
  if (ms < min * 1_000 || ms > max * 1_000) throw badRequest("/extend_ms", `an extension is between 1 minute and 366 days, in ms`);
  if (context.jobs.running(path)?.name === endLeaseOperation) context.jobs.refuseBusy(path);
  const record = context.store.labs.get(path);
  if (record === undefined) throw labNotFound(path);
  if (record.lease === undefined) throw badRequest("/lab", `${path} has no lease: write lease: 8h in the lab and apply it`);
  if (record.lease.endedAt !== undefined)
    throw badRequest("/lab", `the lease of ${path} has ended: start its nodes, which begins the lease again`);
  const now = context.clock.now();
  const lease = extended(record.lease, context.uses.of(record), now, ms);
  if ((lease.heldUntil ?? 0) > now + max * 1_000)
    throw badRequest("/extend_ms", "the lease would end more than 366 days from now: extend it by less");
  await context.store.labs.put({ ...record, lease });
  return { lab: path, lease: leaseState(lease, context.uses.of(record)) };
}
