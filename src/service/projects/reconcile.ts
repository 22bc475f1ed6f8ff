import Type, { type Static } from "typebox";
import { Failure } from "../../contract/errors.ts";
import type { JobStarted } from "../../contract/schemas/jobs.ts";
import type { ReconcileData } from "../../contract/schemas/plan.ts";
import type { ProjectPayload } from "../../contract/schemas/project.ts";
import { files, flag, optionalFlag, optionalJson, optionalText, text } from "../../contract/schemas/shapes.ts";
import type { ObservedLab } from "../../engine/model/observed.ts";
import { splitByDisruption } from "../../engine/plan/split.ts";
import type { ChangeKind, ChangeRun } from "../changes/change-kind.ts";
import { fetchImages, imageFetches } from "../changes/fetch-images.ts";
import { recordApplied, refuseLocked, runChange } from "../changes/managed.ts";
import { type Planned, planAgainstHost } from "../changes/planned.ts";
import { shownOperations } from "../changes/shown-changes.ts";
import { checkChanged } from "../checks/config-problems.ts";
import { checkOnHost } from "../checks/host-check.ts";
import type { Caller, ChangeCall } from "../common/call.ts";
import { badRequest } from "../common/refusals.ts";
import { addressIntent, addressProject, neededIntent } from "../context/address.ts";
import { sentSource, withSource } from "../context/lab-source.ts";
import { refuseMoved } from "../context/moved.ts";
import type { ChangeParts, ClockPart, PlansPart, StorePart } from "../context/parts.ts";
import { noIds, type Target } from "../context/target.ts";
import { isLeaseOf } from "../leases/lease.ts";
import { ownPlacement } from "../placement/own-machine.ts";
import { type Intent, readSent } from "../work/intents.ts";
import { applyIntent } from "./deploy.ts";
import { reconcileFromHost } from "./from-host.ts";
import { directionOf, newestPlan, planStale } from "./plan-project.ts";

/** Journal request of a reconcile to_host. */
const ReconcileRequest = Type.Object({
  yaml: text,
  files,
  prune: flag,
  confirm: flag,
  allowUnsupported: optionalFlag,
  /** The plan that the caller confirms. */
  planIdentity: optionalText,
  /** The host's id of the lab in the caller's state. */
  labId: optionalText,
  /** The source of an imported lab. Absent: none came with the change. */
  source: optionalJson,
});
type ReconcileRequest = Static<typeof ReconcileRequest>;

export const reconcileKind: ChangeKind<typeof ReconcileRequest, ReconcileData> = {
  operation: "reconcileProject",
  version: 1,
  request: ReconcileRequest,
  recover: async ({ context, target }, request) => ({
    target: { ...target, ...withSource(request.source), intent: await readSent(context, request.yaml, request.files) },
    request,
  }),
  run: reconcileToHost,
};

/** Makes the host match the intent (to_host), or returns the host's definition as intent (from_host). */
export async function reconcileProject(
  context: ChangeParts,
  caller: Caller,
  payload: ProjectPayload,
  call: ChangeCall,
): Promise<ReconcileData | JobStarted> {
  if (directionOf(payload.direction) === "from_host") {
    return reconcileFromHost(context, await addressProject(context, caller, payload), payload, call);
  }
  if (payload.peek === true) throw badRequest("/peek", "reconcile to_host changes the host and has no peek; use plan to see the changes");
  const target = await addressIntent(context, caller, payload);
  const { intent } = target;
  if (payload.confirm === true && payload.plan_identity === undefined) {
    throw badRequest(
      "/plan_identity",
      "confirm needs the plan_identity of a plan: call plan with this intent, and send the plan_identity of its answer",
    );
  }
  await checkOnHost(context, target.host, intent, call);
  const [prune, confirm, allowUnsupported] = [payload.prune === true, payload.confirm === true, payload.allow_unsupported === true];
  const labId = (payload.state as { readonly lab?: { readonly id?: unknown } } | null | undefined)?.lab?.id;
  const source = withSource(sentSource(payload.source));
  const request: ReconcileRequest = {
    yaml: intent.yaml,
    files: intent.files,
    prune,
    confirm,
    ...(allowUnsupported && { allowUnsupported }),
    ...(payload.plan_identity !== undefined && { planIdentity: payload.plan_identity }),
    ...(typeof labId === "string" && { labId }),
    ...source,
  };
  return runChange(context, { ...target, ...source }, call, reconcileKind, request);
}

async function reconcileToHost({ context, job, target, interrupted }: ChangeRun, request: ReconcileRequest): Promise<ReconcileData> {
  const intent = await neededIntent(target);
  const { prune, confirm, allowUnsupported = false } = request;
  const options = { direction: "to_host", prune, replace: false, allowUnsupported } as const;
  const planned = await planAgainstHost(context, target, intent, options);
  const { plan, observed, ids } = planned;
  // An interrupted reconcile was allowed when it started, and its own steps have changed the plan since then.
  if (interrupted === undefined) await refuseReconcile(context, target, planned, request);

  const done = interrupted?.done ?? 0;
  const answer = {
    lab: target.path,
    ...ownPlacement(),
    skippedPrune: plan.summary.skipped_prune,
    fullDeploy: observed === null,
    applicable: plan.applicable,
    summary: plan.summary,
    blocked: plan.blocked,
    unsupported: [...plan.unsupported],
    direction: "to_host",
  };
  if (!plan.applicable && interrupted === undefined) {
    if (plan.operations.length === 0 && plan.blocked.length === 0) await recordOrigin(context, target);
    return { ...answer, applied: 0, status: "unchanged", operations: [...shownOperations(plan.operations)] };
  }

  // A lab that this change created is completed without a confirmation.
  const isWhole = confirm || observed === null || interrupted?.steps.some((step) => step.do === "create-lab") === true;
  const { now, later } = isWhole ? { now: plan.operations, later: [] } : splitByDisruption(plan);
  const fetches = await imageFetches(target.host, now, { intent: intent.lab, observed, ids });
  await fetchImages(target.host, job, now, { intent: intent.lab, observed, ids });
  // Kept disks and sessions of the owner depend on the host's owner of the lab.
  if (interrupted === undefined && observed !== null && target.record === undefined && target.caller.role === "admin") {
    await target.host.setOwner?.(target.path, target.caller.user);
  }
  const reportConfigs = checkChanged(context, target.host, intent, now);
  const state =
    now.length > 0 || interrupted !== undefined || !isRecorded(target, intent)
      ? await applyIntent(context, job, target, intent, { operations: now, ids, replace: false, observed })
      : await recordApplied(context, target, context.store.labs.get(target.path)?.ids ?? noIds, intent, {
          observed,
          ids,
          operations: now,
          isWhole: true,
        });
  await reportConfigs(job.warn);
  return {
    ...answer,
    ...fetches,
    applied: done + now.length,
    status: later.length > 0 ? "pending_stop" : done + now.length > 0 ? "applied" : "unchanged",
    operations: [...shownOperations(later)],
    state,
  };
}

/** Throws plan_stale, operation_not_allowed and lab_locked. */
async function refuseReconcile(
  context: StorePart & PlansPart,
  target: Target,
  { observed, identity }: Pick<Planned, "observed" | "identity">,
  { confirm, planIdentity, labId }: ReconcileRequest,
): Promise<void> {
  const isNewest = planIdentity === newestPlan(context, target, "to_host") && planIdentity === identity;
  if (planIdentity === undefined ? confirm : !isNewest) throw planStale();
  allowAdoption(target, observed, labId);
  if (observed === null) await refuseMoved(context, target);
  refuseLocked(observed);
}

/** Records where the intent comes from if nothing but unsupported fields differ: a later change by this source needs no question. */
async function recordOrigin({ store, clock }: StorePart & ClockPart, { path, origin }: Target): Promise<void> {
  const record = store.labs.get(path);
  if (record === undefined || origin === undefined || record.origin === origin) return;
  await store.labs.put({ ...record, origin, updatedAt: clock.now() });
}

function isRecorded({ record, origin = record?.origin }: Target, { yaml, files, lab }: Intent): boolean {
  return (
    record !== undefined &&
    isLeaseOf(record.lease, lab.lease) &&
    record.yaml === yaml &&
    JSON.stringify(record.files) === JSON.stringify(files) &&
    record.origin === origin
  );
}

/**
 * Allows the service to take over an unmanaged lab (created by other means, or without its record) only for an admin or for a caller with its
 * earlier state.
 */
function allowAdoption(target: Target, observed: ObservedLab | null, labId: string | undefined): void {
  if (observed === null || target.record !== undefined || target.caller.role === "admin") return;
  if (labId === observed.id) return;
  throw new Failure(
    "operation_not_allowed",
    `${target.path} is on the host but not managed here; its state, or an admin, can take it over`,
  );
}
