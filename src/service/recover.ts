import { Failure } from "../contract/errors.ts";
import { splitByDisruption } from "../engine/plan/split.ts";
import type { HostSession } from "../hosts/host.ts";
import { guarded } from "./changes/managed.ts";
import { recordUnstarted } from "./changes/owed-starts.ts";
import { planAgainstHost } from "./changes/planned.ts";
import { noIds, type Target } from "./context/address.ts";
import type { Context } from "./context/context.ts";
import { requestProblem } from "./jobs/job-request.ts";
import type { Job } from "./jobs/jobs.ts";
import { renumberLab } from "./labs/renumber.ts";
import { deleteSnapshot, makeSnapshot, restoreLab, type SnapshotRequest } from "./labs/snapshots.ts";
import { changeQuality, changeSuspend, type QualityRequest, type SuspendRequest } from "./links/links.ts";
import { type PowerRequest, powerNodes } from "./power/power.ts";
import { resumeNodes } from "./power/resume.ts";
import { type SaveRequest, saveNodes } from "./power/save-configs.ts";
import { applyIntent, type DeployRequest, deployed } from "./projects/deploy.ts";
import { type DestroyRequest, destroyLab } from "./projects/destroy.ts";
import { type ImportRequest, importLab } from "./projects/import-project.ts";
import type { ReconcileRequest } from "./projects/reconcile.ts";
import type { JobRow } from "./store/store.ts";
import { type Intent, readSent, recordedIntent } from "./work/intents.ts";

/**
 * Changes that a crash cut off. One that had not begun its first step is rolled back, which needs nothing. Any other is finished: planned
 * again from what the host has now, with the intent, options and authority of the caller, never with more. Where the host lets nobody in
 * without a password, or the rest fails, the change ends as interrupted: plan tells what is left. Their labs are busy when this comes back; what it
 * answers settles when all of them have ended.
 */
export async function recoverJobs(context: Context): Promise<void> {
  // Normally one unfinished job per lab; more only if the end of an earlier job was not persisted. They run in order.
  const byLab = new Map<string, JobRow[]>();
  for (const row of context.store.jobs.unfinished()) byLab.set(row.lab, [...(byLab.get(row.lab) ?? []), row]);
  await Promise.all([...byLab.values()].map((rows) => recoverLab(context, rows)));
}

async function recoverLab(context: Context, rows: readonly JobRow[]): Promise<void> {
  for (const row of rows) {
    if (row.unreadable !== true && row.steps.length === 0 && !withoutSteps.has(row.operation)) {
      const failure = new Failure("cancelled", "cut off by a restart before its first step: nothing was changed");
      context.jobs.abandon(row, "rolled_back", failure);
      continue;
    }
    const foreign = ownerProblem(context, row);
    if (foreign === undefined) recordUnstarted(context, row);
    const problem = requestProblem(row) ?? foreign;
    if (problem !== undefined) {
      const text = `cut off by a restart, and not finished: ${problem}. Plan the lab to see what is left to do`;
      context.jobs.abandon(row, "interrupted", new Failure("cancelled", text));
      continue;
    }
    try {
      await context.jobs.resume(row, (job) => goOn(context, job, row));
    } catch (error) {
      // The journal contains the failure, and the service starts. Only a job whose lab is busy with a newer change is not in the journal yet.
      if (error instanceof Failure && error.code === "lab_busy") context.jobs.abandon(row, "interrupted", error);
    }
  }
}

/** The lab of the change is gone, and another one has come to its path. */
function ownerProblem({ store }: Context, { lab, identity }: JobRow): string | undefined {
  const record = store.labs.get(lab);
  if (record === undefined || identity === undefined || record.identity === identity) return undefined;
  return `${lab} is another lab now`;
}

async function goOn(context: Context, job: Job, row: JobRow): Promise<unknown> {
  const host = await sessionFor(context, row);
  try {
    const target = await targetOf(context, row, host);
    return await guarded(context, target, job, () => finish(context, job, target, row));
  } finally {
    await host.close().catch((error: unknown) => context.log("warn", "a host session did not close", { error: String(error) }));
  }
}

async function sessionFor(context: Context, row: JobRow): Promise<HostSession> {
  try {
    // A lab that is shared is its owner's on the host.
    return await context.sessions.resume(context.store.labs.get(row.lab)?.owner ?? row.user);
  } catch (error) {
    throw new Failure("expired_host_session", `cut off by a restart: ${(error as Error).message}`, { cause: error });
  }
}

/** Calls to the host without steps: made again, as nobody knows whether they were made. */
const withoutSteps: ReadonlySet<string> = new Set([
  "applyLinkQuality",
  "setLinkSuspend",
  "saveConfigs",
  "renumberLab",
  "takeSnapshot",
  "restoreSnapshot",
  "removeSnapshot",
]);

async function targetOf(context: Context, row: JobRow, host: HostSession): Promise<Target> {
  const record = context.store.labs.get(row.lab);
  const intent = await recordedIntent(context, record);
  return {
    path: row.lab,
    mode: record?.mode ?? "create",
    caller: { user: row.user, role: host.role, session: `job ${row.id}` },
    host,
    ...(record !== undefined && { record }),
    ...(intent !== undefined && { intent }),
    sent: false,
    ids: record?.ids ?? noIds,
  };
}

async function finish(context: Context, job: Job, target: Target, row: JobRow): Promise<unknown> {
  if (row.operation === "destroyProject") return destroyLab(context, job, target, row.request as DestroyRequest);
  if (row.operation === "applyLinkQuality") return changeQuality(job, target, row.request as QualityRequest);
  if (row.operation === "setLinkSuspend") return changeSuspend(job, target, row.request as SuspendRequest);
  if (row.operation === "execProject") return powerNodes(context, job, target, row.request as PowerRequest);
  if (row.operation === "importProject") return finishImport(context, job, target, row);
  if (row.operation === "saveConfigs") return saveNodes(context, job, target, row.request as SaveRequest);
  if (row.operation === "renumberLab") return renumberLab(context, job, target);
  if (row.operation === "takeSnapshot") return makeSnapshot(job, target, row.request as SnapshotRequest, true);
  if (row.operation === "restoreSnapshot") return restoreLab(context, job, target, row.request as SnapshotRequest);
  if (row.operation === "removeSnapshot") return deleteSnapshot(job, target, row.request as SnapshotRequest, true);
  if (row.operation === "resumeLab") return resumeNodes(context, job, target);
  if (row.operation === "deployProject") return finishDeploy(context, job, target, row);
  if (row.operation === "reconcileProject") return finishReconcile(context, job, target, row);
  throw new Failure("internal", `no way to finish ${row.operation}`);
}

async function finishImport(context: Context, job: Job, target: Target, row: JobRow): Promise<unknown> {
  const request = row.request as ImportRequest;
  const intent = await readSent(context, request.yaml, request.files);
  const replace = request.replace && !isRemade(row);
  return importLab(context, job, { ...target, mode: "import", source: request.source }, intent, { ...request, replace });
}

/** Once the old lab is gone, what stands there is the new one, half made. */
function isRemade(row: JobRow): boolean {
  return row.steps.slice(0, row.done).some((step) => step.do === "delete-lab");
}

async function finishDeploy(context: Context, job: Job, target: Target, row: JobRow): Promise<unknown> {
  const request = row.request as DeployRequest;
  const intent = await readSent(context, request.yaml, request.files);
  const replace = request.replace && !isRemade(row);
  const planned = await planAgainstHost(context, target, intent, { direction: "to_host", prune: false, replace });
  const { operations, unsupported } = planned.plan;
  const state = await applyIntent(context, job, target, intent, { operations, ids: planned.ids, replace });
  return deployed(target, intent, state, unsupported);
}

async function finishReconcile(context: Context, job: Job, target: Target, row: JobRow): Promise<unknown> {
  const request = row.request as ReconcileRequest;
  const intent: Intent = await readSent(context, request.yaml, request.files);
  const { prune, allowUnsupported = false } = request;
  const options = { direction: "to_host", prune, replace: false, allowUnsupported } as const;
  const planned = await planAgainstHost(context, target, intent, options);
  const { plan, observed, ids } = planned;
  // A lab that did not exist when the change began was its to make whole.
  const whole = request.confirm || observed === null || row.steps.some((step) => step.do === "create-lab");
  const { now, later } = whole ? { now: plan.operations, later: [] } : splitByDisruption(plan);
  const state = await applyIntent(context, job, target, intent, { operations: now, ids, replace: false });
  return {
    lab: target.path,
    applied: row.done + now.length,
    unsupported: [...plan.unsupported],
    direction: "to_host",
    status: later.length > 0 ? "pending_stop" : "applied",
    state,
  };
}
