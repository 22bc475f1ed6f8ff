import { Failure } from "../contract/errors.ts";
import type { JobStarted } from "../contract/schemas/jobs.ts";
import type { DestroyData, ProjectPayload } from "../contract/schemas/project.ts";
import { addressProject, allowChange, refuseMissing, type Target } from "./address.ts";
import { applyOperations } from "./apply.ts";
import type { Context } from "./context.ts";
import type { Job } from "./jobs.ts";
import { refuseLocked, runChange } from "./managed.ts";
import { planAgainstHost } from "./planned.ts";
import type { Caller, ChangeCall } from "./service.ts";

/** Removes the lab; wipe absent or true drops the nodes' disks too. */
export async function destroyProject(
  context: Context,
  caller: Caller,
  payload: ProjectPayload,
  call: ChangeCall,
): Promise<DestroyData | JobStarted> {
  const target = await addressProject(context, caller, payload);
  const wipe = payload.wipe !== false;
  await refuseMissing(context, target);
  if (target.record === undefined) allowUnrecorded(target);
  else allowChange(target, "own");
  return runChange(context, target, call, {
    operation: "destroyProject",
    request: { wipe },
    work: (job) => destroyLab(context, job, target, wipe),
  });
}

/** Throws operation_not_allowed: a lab without a record has mode load, and yet an admin may remove it. */
function allowUnrecorded({ caller, loaded, path }: Target): void {
  if (caller.role === "admin" && loaded !== true) return;
  throw new Failure("operation_not_allowed", `${path} is on the host but not managed here; only an admin may destroy it`);
}

/** Safe to run again: what is gone is gone. */
export async function destroyLab(context: Context, job: Job, target: Target, wipe: boolean): Promise<DestroyData> {
  const { path, host } = target;
  const options = { direction: "to_host", prune: true, replace: false, wipe } as const;
  const { plan, observed, ids } = await planAgainstHost(context, target, null, options);
  refuseLocked(observed);
  if (plan.operations.length > 0) await applyOperations(context.consoles, host, job, { path, operations: plan.operations, ids });
  context.store.labs.delete(path);
  return { lab: path };
}
