import type { Static, TSchema } from "typebox";
import { Failure } from "../../contract/errors.ts";
import type { JobStarted } from "../../contract/schemas/jobs.ts";
import { endpointKeys, joinIds } from "../../engine/compare/join.ts";
import type { ObservedLab } from "../../engine/model/observed.ts";
import type { NativeIds } from "../../hosts/host.ts";
import type { LabLease } from "../../intent/lab/lab.ts";
import type { ChangeCall } from "../common/call.ts";
import { pathNotAvailable } from "../common/refusals.ts";
import { makes } from "../context/address.ts";
import type { ChangeParts, ClockPart, HostPart, JobsPart, LogPart, MemoryPart, StorePart } from "../context/parts.ts";
import { refuseQuarantined } from "../context/quarantine.ts";
import { type ProjectState, projectState } from "../context/state.ts";
import { noIds, type Target } from "../context/target.ts";
import type { Job } from "../jobs/jobs.ts";
import { isLeaseOf, leaseAfter, leaseEnd, restoredLease } from "../leases/lease.ts";
import { labAdmission, labExcess, quotaExceeded } from "../quotas/admit.ts";
import { roomReserved, takenRoom } from "../reservations/admit.ts";
import { rightOn } from "../sessions/rights.ts";
import type { LabRecord, LabSize } from "../store/store.ts";
import type { Intent } from "../work/intents.ts";
import { type ChangeKind, storedRequest } from "./change-kind.ts";
import { type Before, withoutHandChanges } from "./hand-changes.ts";
import { withKeptPlaces } from "./kept-places.ts";
import { stillDown, withOwedStarts } from "./owed-starts.ts";
import { recordHistory } from "./record-history.ts";

/** Runs a change of a lab as a job. Prefer: respond-async returns the job at once. Cached observations of the lab are dropped. */
export async function runChange<Schema extends TSchema, Result>(
  context: ChangeParts,
  target: Target,
  call: ChangeCall,
  kind: ChangeKind<Schema, Result>,
  request: Static<Schema>,
): Promise<Result | JobStarted> {
  refuseTaken(context, target);
  const { id, result } = await context.jobs.start({
    operation: kind.operation,
    lab: target.path,
    user: target.caller.user,
    request: storedRequest(kind, request, target.caller),
    work: (job) => guarded(context, target, job, () => kind.run({ context, job, target }, request)),
  });
  // The caller gets the failure by awaiting the result, and the journal records it.
  result.catch(() => {});
  await call.started?.(id);
  if (!call.respondAsync) return result;
  return { job: id };
}

/** Throws lab_not_found if the lab has got another owner since it was looked up, or if another user is creating it. */
function refuseTaken(context: StorePart & JobsPart, { path, caller, record }: Target): void {
  const now = context.store.labs.get(path);
  const busy = now === undefined && record === undefined && context.jobs.running(path) !== undefined;
  if (now === undefined ? busy && !makes(context, caller, path) : rightOn(now, caller) === undefined) throw pathNotAvailable(path);
}

/**
 * Runs the work of a change with its host session held open, and drops stale views afterwards. Warnings are added to the answer or to the failure's data.
 */
export async function guarded<Result>(context: ChangeParts, target: Target, job: Job, work: () => Promise<Result>): Promise<Result> {
  const release = context.sessions.hold(target.host);
  try {
    await refuseQuarantined(context, target);
    const result = await work();
    return job.warnings.length === 0 ? result : { ...result, warnings: job.warnings };
  } catch (error) {
    if (!(error instanceof Failure) || job.warnings.length === 0) throw error;
    const { code, message, data, retryAfter } = error;
    const more = { data: { ...data, warnings: job.warnings }, ...(retryAfter !== undefined && { retryAfter }), cause: error };
    throw new Failure(code, message, more);
  } finally {
    release();
    context.observations.forget(target.path);
    context.inspections.deleteWhere((key) => key.endsWith(` ${target.path}`));
  }
}

/** Throws lab_locked. */
export function refuseLocked(observed: ObservedLab | null): void {
  if (observed?.locked === true) throw labLocked(observed.path);
}

export function labLocked(path: string, cause?: unknown): Failure {
  const text = `${path} is locked on the host: nothing was changed. Clear the lock (labwright unlock) and try again`;
  return new Failure("lab_locked", text, { data: { lab: path }, ...(cause !== undefined && { cause }) });
}

/** Records the intent before the first step, so that recovery after a crash knows it, and adds it to the lab's history. */
export async function recordIntent(
  context: StorePart & ClockPart & HostPart & MemoryPart,
  job: Pick<Job, "id" | "identity" | "operation">,
  target: Target,
  intent: Intent,
  { ids, isMade, size }: { readonly ids: NativeIds; readonly isMade: boolean; readonly size: LabSize },
): Promise<LabRecord> {
  const known = context.store.labs.get(target.path);
  const wanted = intent.lab.lease;
  refuseForeignDestroy(known, target, wanted);
  const lease = leaseAfter(known?.lease, wanted, context.clock.now());
  const power = Object.fromEntries(intent.lab.nodes.flatMap(({ key, start }) => (start === undefined ? [] : [[key, start]])));
  // A new lab gets its own id on the host, which is recorded when the change ends.
  const { labId, lease: _lease, tests, ...rest } = known ?? {};
  const isTested = tests !== undefined && !isMade && known?.yaml === intent.yaml;
  const record: LabRecord = {
    ...rest,
    ...(labId !== undefined && !isMade && { labId }),
    ...(lease !== undefined && { lease }),
    ...(isTested && { tests }),
    path: target.path,
    identity: known?.identity ?? job.identity,
    mode: target.mode === "import" ? "import" : (known?.mode ?? "create"),
    owner: known?.owner ?? target.caller.user,
    yaml: intent.yaml,
    files: intent.files,
    ...(target.source !== undefined && { source: target.source }),
    ...(target.origin !== undefined && { origin: target.origin }),
    serial: (known?.serial ?? 0) + 1,
    ids,
    size,
    plans: known?.plans ?? {},
    power: { ...known?.power, ...power },
    updatedAt: context.clock.now(),
  };
  // Nothing runs between this check and the write, which other checks see at once: two changes at the same time cannot exceed a quota together. Those of two
  // machines of a fleet are counted once more with the write.
  const excess = labExcess(context, { path: target.path, owner: record.owner, size });
  if (excess !== undefined) throw quotaExceeded(excess);
  const now = context.clock.now();
  const admission = labAdmission(context, { path: target.path, owner: record.owner, size });
  const isSpread = intent.lab.place?.spread !== undefined;
  const taken = takenRoom(context, { path: target.path, owner: record.owner, size, until: leaseEnd(lease), now, isSpread });
  if (taken !== undefined) throw roomReserved(taken);
  await context.store.labs.put(record, admission);
  await recordHistory(context, record, intent.lab, { user: target.caller.user, operation: job.operation, job: job.id }, known);
  return record;
}

/** Throws operation_not_allowed if a user who may not destroy the lab wants a lease that does. */
function refuseForeignDestroy(known: LabRecord | undefined, { caller, path }: Target, wanted: LabLease | undefined): void {
  if (wanted?.atEnd !== "destroy" || known === undefined || isLeaseOf(known.lease, wanted)) return;
  if (rightOn(known, caller) === "own") return;
  throw new Failure("operation_not_allowed", `only the owner of ${path} may give it a lease that destroys it: write then: stop`);
}

/**
 * Returns an earlier record of a lab with the settings of now: a change that holds the earlier record does not take back what other calls have set
 * meanwhile.
 */
function withSettingsOfNow({ store }: StorePart, before: LabRecord): LabRecord {
  const now = store.labs.get(before.path);
  if (now === undefined || now.identity !== before.identity) return before;
  const { grants: _grants, resume: _resume, usedAt: _usedAt, lease: _lease, ...rest } = before;
  const { grants, resume, usedAt } = now;
  const lease = restoredLease(before.lease, now.lease);
  return {
    ...rest,
    ...(grants !== undefined && { grants }),
    ...(resume !== undefined && { resume }),
    ...(usedAt !== undefined && { usedAt }),
    ...(lease !== undefined && { lease }),
  };
}

/** Reads the lab after a change. A host that was busy with the change gets a second chance: without this read nobody knows the new ids. */
async function observeAgain({ host, path }: Target): Promise<ObservedLab | null> {
  try {
    return await host.observe(path);
  } catch (error) {
    if (!(error instanceof Failure) || !/^host_/.test(error.code)) throw error;
    return await host.observe(path);
  }
}

/**
 * Records the host's ids after a change. Returns the state for the client.
 * @param before separates the change from changes by hand at the same time. Absent: the lab is recorded as it was read
 */
export async function recordApplied(
  context: HostPart & StorePart & ClockPart,
  target: Target,
  known: NativeIds,
  intent: Intent | undefined,
  before?: Before,
): Promise<ProjectState> {
  const observed = await observeAgain(target);
  if (observed === null) throw new Failure("host_error", `the host does not have ${target.path} after the change`);
  const ids = joinIds(intent?.lab ?? null, observed, known);
  const record = context.store.labs.get(target.path);
  if (record !== undefined) {
    const up = new Set(observed.nodes.filter(({ power }) => power === "running" || power === "starting").map(({ id }) => id));
    const running = Object.fromEntries(Object.entries(ids.nodes).map(([key, id]) => [key, up.has(id)]));
    // A change makes all earlier plans stale.
    const updatedAt = context.clock.now();
    const base = before === undefined ? { lab: observed, ids } : withoutHandChanges({ lab: observed, ids }, before);
    const applied = snapshot(withKeptPlaces(base.lab, record, ids, intent?.lab));
    const after: LabRecord = { ...record, ids: base.ids, labId: observed.id, applied, plans: {}, power: running, updatedAt };
    await context.store.labs.put(withOwedStarts(after, stillDown(record.owedStarts ?? [], observed, ids)));
  }
  return projectState(context.host, record?.serial ?? 0, observed, ids);
}

/**
 * Records the host's ids after a restore. The last applied definition is kept, so that a plan shows the restored differences as changes on
 * the host.
 * @returns the state for the client, and the key of each node by its native id
 */
export async function recordRestored(
  context: HostPart & StorePart & ClockPart,
  target: Target,
  known: NativeIds,
): Promise<{ readonly state: ProjectState; readonly keys: ReadonlyMap<string, string> }> {
  const observed = await target.host.observe(target.path);
  if (observed === null) throw new Failure("host_error", `the host does not have ${target.path} after the restore`);
  const ids = joinIds(target.intent?.lab ?? null, observed, known);
  const record = context.store.labs.get(target.path);
  if (record !== undefined) {
    const power = Object.fromEntries(Object.keys(ids.nodes).map((key) => [key, false]));
    const after: LabRecord = { ...record, ids, labId: observed.id, plans: {}, power, updatedAt: context.clock.now() };
    await context.store.labs.put(withOwedStarts(after, []));
  }
  return { state: projectState(context.host, record?.serial ?? 0, observed, ids), keys: endpointKeys(ids).nodes };
}

/** Returns the part of an observed lab with which later plans compare. Interfaces are left out, because they follow from the rest. */
export function snapshot(observed: ObservedLab): ObservedLab {
  return { ...observed, nodes: observed.nodes.map((node) => ({ ...node, interfaces: [] })) };
}

/**
 * Restores the record after a change that finished no step. If the host has the new lab in spite of that, its record is kept.
 * @param owed nodes that the change was to start: a failed step may have stopped some of them
 */
export async function recordUntouched(
  context: StorePart & ClockPart & LogPart,
  target: Target,
  before: LabRecord | undefined,
  owed: readonly string[],
): Promise<void> {
  const kept = before === undefined ? undefined : { ...withSettingsOfNow(context, before), plans: {}, updatedAt: context.clock.now() };
  if (kept !== undefined) await context.store.history.forgetAfter(kept.identity, kept.serial);
  if (kept !== undefined) await context.store.labs.put(withOwedStarts(kept, [...(kept.owedStarts ?? []), ...owed]));
  if (kept !== undefined && owed.length === 0) return;
  try {
    const observed = await target.host.observe(target.path);
    if (kept !== undefined) {
      const down = stillDown([...(kept.owedStarts ?? []), ...owed], observed, kept.ids);
      await context.store.labs.put(withOwedStarts(withSettingsOfNow(context, kept), down));
    } else if (observed === null) await context.store.labs.delete(target.path);
  } catch (error) {
    context.log("warn", "the lab could not be read after a refused change", { lab: target.path, error: String(error) });
  }
}

/**
 * Records the ids of the objects that an interrupted change created, and the nodes that it did not start yet. If the host is unreachable, a later
 * call reads the ids from it.
 */
export async function recordBroken(
  context: StorePart & ClockPart & LogPart,
  target: Target,
  known: NativeIds,
  intent: Intent | undefined,
  { owed: unstarted, before }: { readonly owed: readonly string[]; readonly before: Before | undefined },
): Promise<void> {
  const record = context.store.labs.get(target.path);
  if (record === undefined) return;
  const owed = [...(record.owedStarts ?? []), ...unstarted];
  await context.store.labs.put(withOwedStarts({ ...record, plans: {} }, owed));
  try {
    const observed = await target.host.observe(target.path);
    const ids = observed === null ? noIds : joinIds(intent?.lab ?? null, observed, known);
    const { applied: _before, ...rest } = record;
    const base = observed === null || before === undefined ? { lab: observed, ids } : withoutHandChanges({ lab: observed, ids }, before);
    const applied = base.lab === null ? {} : { applied: snapshot(base.lab) };
    const after: LabRecord = {
      ...rest,
      ...applied,
      ...(observed !== null && { labId: observed.id }),
      ids: base.ids,
      plans: {},
      updatedAt: context.clock.now(),
    };
    await context.store.labs.put(withOwedStarts(withSettingsOfNow(context, after), stillDown(owed, observed, ids)));
  } catch (error) {
    context.log("warn", "the lab could not be read after an interrupted change", { lab: target.path, error: String(error) });
  }
}
