import Type, { type Static } from "typebox";
import { Failure } from "../../contract/errors.ts";
import { word } from "../../contract/schemas/shapes.ts";
import { leaseEnds } from "../../intent/lab/lab.ts";
import type { ChangeKind, ChangeRun } from "../changes/change-kind.ts";
import { endLeaseOperation } from "../jobs/jobs.ts";
import { isOver } from "../leases/lease.ts";
import { powerKind } from "../power/power.ts";
import { destroyKind } from "../projects/destroy.ts";

/** The user of these changes in the journal. */
export const leaseUser = "lease";

/** Journal request of the end of a lease. */
const EndLeaseRequest = Type.Object({ atEnd: word(leaseEnds) });
type EndLeaseRequest = Static<typeof EndLeaseRequest>;

interface LeaseEnded {
  /** False if the lab was used, or its lease extended, before the change began. */
  readonly ended: boolean;
}

/** Stops or destroys a lab whose lease is over. */
export const endLeaseKind: ChangeKind<typeof EndLeaseRequest, LeaseEnded> = {
  operation: endLeaseOperation,
  version: 1,
  request: EndLeaseRequest,
  run: endLease,
};

async function endLease({ context, job, target, interrupted }: ChangeRun, { atEnd }: EndLeaseRequest): Promise<LeaseEnded> {
  const { store, uses, clock } = context;
  const record = store.labs.get(target.path);
  if (interrupted === undefined && (record?.lease?.atEnd !== atEnd || !isOver(record.lease, uses.of(record), clock.now())))
    return { ended: false };
  if (atEnd === "destroy") {
    await destroyKind.run({ context, job, target }, { wipe: true });
    return { ended: true };
  }
  const { failed, nodes } = await powerKind.run({ context, job, target }, { action: "stop", nodes: [], mode: 3 });
  if (failed > 0) {
    const reasons = nodes?.filter(({ ok }) => !ok).map(({ node, message }) => `${node}: ${message}`);
    throw new Failure("host_error", `${failed} nodes could not be stopped: ${reasons?.join("; ")}`);
  }
  const after = store.labs.get(target.path);
  if (after?.lease !== undefined) {
    const { warning: _warning, failed: _failed, heldUntil: _until, ...lease } = after.lease;
    await store.labs.put({ ...after, lease: { ...lease, endedAt: clock.now() } });
  }
  return { ended: true };
}
