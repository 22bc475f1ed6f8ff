import { Failure } from "../../contract/errors.ts";
import type { LabLockData, LabLockPayload } from "../../contract/schemas/lock.ts";
import type { Caller } from "../common/call.ts";
import { labNotFound } from "../common/refusals.ts";
import { addressChange } from "../context/address.ts";
import type { InspectionsPart, JobsPart, LookupParts, ObservationsPart } from "../context/parts.ts";

/**
 * Sets or clears the lab's lock on the host. Not a job, because a lock that is set during a change must stop that change. Throws unsupported if the host
 * has no lock.
 */
export async function setLabLock(
  context: LookupParts & JobsPart & ObservationsPart & InspectionsPart,
  caller: Caller,
  payload: LabLockPayload,
): Promise<LabLockData> {
  const target = await addressChange(context, caller, payload);
  const { host, path } = target;
  if (!(await host.capabilities()).features.lock) {
    const text = "this host sets no locks for Labwright: lock and unlock labs in the host's own pages";
    throw new Failure("unsupported", text, { data: { feature: "lock" } });
  }
  try {
    await host.setLock(path, payload.locked);
  } finally {
    context.observations.forget(path);
    context.inspections.deleteWhere((key) => key.endsWith(` ${path}`));
  }
  const observed = await host.observe(path);
  if (observed === null) throw labNotFound(path);
  return { lab: path, locked: observed.locked };
}
