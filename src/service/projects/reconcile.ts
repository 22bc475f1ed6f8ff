import { Failure } from "../../contract/errors.ts";
import type { JobStarted } from "../../contract/schemas/jobs.ts";
import type { ReconcileData } from "../../contract/schemas/plan.ts";
import type { ProjectPayload } from "../../contract/schemas/project.ts";
import type { ObservedLab } from "../../engine/model/observed.ts";
import { splitByDisruption } from "../../engine/plan/split.ts";
import { recordApplied, refuseLocked, runChange } from "../changes/managed.ts";
import { planAgainstHost, shownOperation } from "../changes/planned.ts";
import { checkOnHost } from "../checks/host-check.ts";
import type { Caller, ChangeCall } from "../common/call.ts";
import { badRequest } from "../common/refusals.ts";
import { addressProject, allowChange, neededIntent, noIds, type Target } from "../context/address.ts";
import type { Context } from "../context/context.ts";
import type { Job } from "../jobs/jobs.ts";
import type { Intent } from "../work/intents.ts";
import { applyIntent } from "./deploy.ts";
import { reconcileFromHost } from "./from-host.ts";
import { directionOf, newestPlan, planStale } from "./plan-project.ts";

/** Journal request of a reconcile to_host. */
export interface ReconcileRequest {
  readonly yaml: string;
  readonly files: Readonly<Record<string, string>>;
  readonly prune: boolean;
  readonly confirm: boolean;
  /** Absent: false. */
  readonly allowUnsupported?: boolean;
}

/** Makes the host match the intent, or answers the host's definition as intent. */
export async function reconcileProject(
  context: Context,
  caller: Caller,
  payload: ProjectPayload,
  call: ChangeCall,
): Promise<ReconcileData | JobStarted> {
  const direction = directionOf(payload.direction);
  const target = await addressProject(context, caller, payload, { makes: direction === "to_host" });
  if (direction === "from_host") return reconcileFromHost(context, target, payload, call);
  if (payload.peek === true) throw badRequest("/peek", "reconcile to_host changes the host and has no peek; use plan to see the changes");
  const intent = await neededIntent(target);
  allowChange(target);
  await checkOnHost(context, target.host, intent, call);
  const [prune, confirm, allowUnsupported] = [payload.prune === true, payload.confirm === true, payload.allow_unsupported === true];
  const request: ReconcileRequest = {
    yaml: intent.yaml,
    files: intent.files,
    prune,
    confirm,
    ...(allowUnsupported && { allowUnsupported }),
  };
  return runChange(context, target, call, {
    operation: "reconcileProject",
    request,
    work: (job) => reconcileToHost(context, job, target, intent, payload),
  });
}

async function reconcileToHost(
  context: Context,
  job: Job,
  target: Target,
  intent: Intent,
  payload: ProjectPayload,
): Promise<ReconcileData> {
  const allowUnsupported = payload.allow_unsupported === true;
  const options = { direction: "to_host", prune: payload.prune === true, replace: false, allowUnsupported } as const;
  const planned = await planAgainstHost(context, target, intent, options);
  const { plan, observed, ids } = planned;
  const confirm = payload.confirm === true;
  const given = payload.plan_identity;
  if (given === undefined ? confirm : given !== newestPlan(context, target, "to_host") || given !== planned.identity) throw planStale();
  allowAdoption(target, observed, payload);
  refuseLocked(observed);

  const answer = {
    lab: target.path,
    skippedPrune: plan.summary.skipped_prune,
    fullDeploy: observed === null,
    applicable: plan.applicable,
    summary: plan.summary,
    blocked: plan.blocked,
    unsupported: [...plan.unsupported],
    direction: "to_host",
  };
  if (!plan.applicable) {
    if (plan.operations.length === 0 && plan.blocked.length === 0) recordOrigin(context, target);
    return { ...answer, applied: 0, status: "unchanged", operations: plan.operations.map(shownOperation) };
  }

  // Kept disks, and sessions in the owner's name, go by the host's owner.
  if (observed !== null && target.record === undefined && target.caller.role === "admin") {
    await target.host.setOwner?.(target.path, target.caller.user);
  }
  const { now, later } = confirm || observed === null ? { now: plan.operations, later: [] } : splitByDisruption(plan);
  const state =
    now.length > 0 || !isRecorded(target, intent)
      ? await applyIntent(context, job, target, intent, { operations: now, ids, replace: false })
      : await recordApplied(context, target, context.store.labs.get(target.path)?.ids ?? noIds, intent);
  return {
    ...answer,
    applied: now.length,
    status: later.length > 0 ? "pending_stop" : now.length > 0 ? "applied" : "unchanged",
    operations: later.map(shownOperation),
    state,
  };
}

/** Records where the intent comes from if nothing but unsupported fields differ: a later change by this source needs no question. */
function recordOrigin({ store, clock }: Context, { path, origin }: Target): void {
  const record = store.labs.get(path);
  if (record === undefined || origin === undefined || record.origin === origin) return;
  store.labs.put({ ...record, origin, updatedAt: clock.now() });
}

function isRecorded({ record, origin = record?.origin }: Target, { yaml, files }: Intent): boolean {
  return record !== undefined && record.yaml === yaml && JSON.stringify(record.files) === JSON.stringify(files) && record.origin === origin;
}

/**
 * Allows the service to take over an unmanaged lab (created by other means, or without its record) only for an admin or for a caller with its
 * earlier state.
 */
function allowAdoption(target: Target, observed: ObservedLab | null, payload: ProjectPayload): void {
  if (observed === null || target.record !== undefined || target.caller.role === "admin") return;
  const state = payload.state as { readonly lab?: { readonly id?: unknown } } | null | undefined;
  if (state?.lab?.id === observed.id) return;
  throw new Failure(
    "operation_not_allowed",
    `${target.path} is on the host but not managed here; its state, or an admin, can take it over`,
  );
}
