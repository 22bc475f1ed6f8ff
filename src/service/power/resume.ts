import Type from "typebox";
import { Failure } from "../../contract/errors.ts";
import type { JobStarted } from "../../contract/schemas/jobs.ts";
import type { BulkResult, ProjectPayload } from "../../contract/schemas/project.ts";
import type { ResumeData, ResumePayload, ResumeState } from "../../contract/schemas/resume.ts";
import { endpointKeys, joinIds } from "../../engine/compare/join.ts";
import type { Operation } from "../../engine/model/plan.ts";
import type { HostSession, LiveNode, NativeIds } from "../../hosts/host.ts";
import { applyOperations } from "../changes/apply.ts";
import type { ChangeKind } from "../changes/change-kind.ts";
import { refuseLocked, runChange } from "../changes/managed.ts";
import type { Caller, ChangeCall } from "../common/call.ts";
import { unsupported } from "../common/capabilities.ts";
import { labNotFound } from "../common/refusals.ts";
import { addressChange } from "../context/address.ts";
import type {
  ChangeParts,
  ClockPart,
  ConditionsPart,
  ConsolesPart,
  JobsPart,
  LookupParts,
  ResumePart,
  StorePart,
} from "../context/parts.ts";
import { noIds, type Target } from "../context/target.ts";
import type { Job } from "../jobs/jobs.ts";
import { withLeaseBegun } from "../leases/lease.ts";
import type { LabRecord, ResumePolicy } from "../store/store.ts";
import { operationOf } from "./power.ts";

/** The lab's own policy, else the service's. */
export function policyOf(context: ResumePart, record: Pick<LabRecord, "resume"> | undefined): ResumePolicy {
  return record?.resume ?? context.resumeDefault;
}

/** Sets a lab's policy; "default" removes it. Throws unsupported if the host cannot report which nodes ended with it. */
export async function setLabResume(
  context: LookupParts & JobsPart & ResumePart,
  caller: Caller,
  payload: ResumePayload,
): Promise<ResumeData> {
  const target = await addressChange(context, caller, payload, "operate");
  await needResume(target.host);
  // Reads the record again, because a change of the lab may have ended meanwhile.
  const record = context.store.labs.get(target.path);
  if (record === undefined) throw labNotFound(target.path);
  const { resume: _before, ...rest } = record;
  const after: LabRecord = { ...rest, ...(payload.resume === "default" ? {} : { resume: payload.resume }) };
  await context.store.labs.put(after);
  return { lab: target.path, resume: policyOf(context, after), own: after.resume !== undefined };
}

const ResumeRequest = Type.Object({});

export const resumeKind: ChangeKind<typeof ResumeRequest, BulkResult> = {
  operation: "resumeLab",
  version: 1,
  request: ResumeRequest,
  run: ({ context, job, target }) => resumeNodes(context, job, target),
};

/** Restarts the nodes that ended with the host or with the lab. Throws unsupported if the host cannot report them. */
export async function resumeLab(
  context: ChangeParts,
  caller: Caller,
  payload: ProjectPayload,
  call: ChangeCall,
): Promise<BulkResult | JobStarted> {
  const target = await addressChange(context, caller, payload, "operate");
  await needResume(target.host);
  return runChange(context, target, call, resumeKind, {});
}

async function needResume(host: HostSession): Promise<void> {
  if (!(await host.capabilities()).features.resume) throw unsupported("resume");
}

/** Safe to repeat: running nodes are not touched. Tries all nodes, then throws host_error with the names of failed nodes. */
async function resumeNodes(context: ConsolesPart & ConditionsPart & StorePart & ClockPart, job: Job, target: Target): Promise<BulkResult> {
  const { path, host } = target;
  const observed = await host.observe(path);
  if (observed === null) throw labNotFound(path);
  refuseLocked(observed);
  const lost = lostOf((await host.status(path)).nodes);
  const ids = joinIds(target.intent?.lab ?? null, observed, target.ids);
  const keys = endpointKeys(ids).nodes;
  const operations = lost.flatMap((node): Operation[] => {
    const key = keys.get(node.id);
    // Deleted since the status was read.
    if (key === undefined) return [];
    const operation = operationOf({ do: "start", node: key }, key, node, "start");
    return [{ ...operation, reason: { code: "resume", text: reasonText(node) } }];
  });
  const failed = await startAll(context, job, target, operations, ids);
  const started = operations.length - failed.length;
  const record = context.store.labs.get(path);
  if (started > 0 && record?.lease?.endedAt !== undefined) await context.store.labs.put(withLeaseBegun(record, context.clock.now()));
  const [first] = failed;
  if (first !== undefined) {
    throw new Failure(
      first.error.code,
      `${failed.length} of ${operations.length} nodes did not come back: ${namesOf(failed)}; ${first.error.message}`,
      {
        data: { ...first.error.data, started, failed: failed.map(({ key, error }) => ({ node: key, error: error.message })) },
        cause: first.error,
      },
    );
  }
  return { ...none, requested: operations.length, started };
}

function namesOf(failed: readonly { readonly key: string }[]): string {
  const shown = failed.slice(0, 8).map(({ key }) => key);
  return `${shown.join(", ")}${failed.length > shown.length ? ` and ${failed.length - shown.length} more` : ""}`;
}

const none: BulkResult = {
  requested: 0,
  started: 0,
  already_running: 0,
  already_starting: 0,
  stopped: 0,
  already_stopped: 0,
  wiped: 0,
  failed: 0,
  invalid: 0,
};

/** Starts all nodes in one call, which is fastest; if that fails, one by one. */
async function startAll(
  context: ConsolesPart & ConditionsPart,
  job: Job,
  { path, host, intent }: Target,
  operations: readonly Operation[],
  ids: NativeIds,
): Promise<readonly { readonly key: string; readonly error: Failure }[]> {
  if (operations.length === 0) return [];
  const order = { boots: intent?.lab.boots ?? [], links: intent?.lab.links ?? [], conditions: context.conditions, host, path };
  const start = (some: readonly Operation[]) => applyOperations(context.consoles, host, job, { path, operations: some, ids, order });
  const failures: { key: string; error: Failure }[] = [];
  try {
    await start(operations);
    return [];
  } catch (error) {
    const single = operations[0];
    if (!(error instanceof Failure) || error.code !== "host_error" || single === undefined) throw error;
    if (operations.length === 1) return [{ key: single.key, error }];
  }
  for (const operation of operations) {
    try {
      await start([operation]);
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== "host_error") throw error;
      failures.push({ key: operation.key, error });
    }
  }
  return failures;
}

/** Cached per read: all pollers of one read need the same result. */
const knownLost = new WeakMap<readonly LiveNode[], readonly LiveNode[]>();

export function lostOf(nodes: readonly LiveNode[]): readonly LiveNode[] {
  const known = knownLost.get(nodes);
  if (known !== undefined) return known;
  const found = nodes.filter(({ lost }) => lost !== undefined);
  knownLost.set(nodes, found);
  return found;
}

function reasonText({ lost }: LiveNode): string {
  return lost === "lab_killed" ? "it ended with its lab, which was killed" : "it ended when the host went down";
}

/**
 * Returns the lab's policy and the nodes that wait to be restored, for its status; undefined if there are none.
 * @param nodes live
 */
export async function resumeState(
  context: StorePart & JobsPart & ResumePart,
  path: string,
  record: LabRecord | undefined,
  nodes: readonly LiveNode[],
): Promise<ResumeState | undefined> {
  const policy = policyOf(context, record);
  const lost = lostOf(nodes);
  const [first] = lost;
  if (first?.lost === undefined) return policy === "always" || record?.resume !== undefined ? { policy } : undefined;
  // A running change may restore them. Otherwise the newest change contains the reason of the failure.
  const last = context.jobs.running(path) === undefined && record !== undefined ? await context.store.jobs.lastOf(path, record) : undefined;
  const error =
    last?.operation === "resumeLab" && last.error !== undefined ? { code: last.error.code, error: last.error.error } : undefined;
  const keys = endpointKeys(record?.ids ?? noIds).nodes;
  const waiting = lost.map(({ id, name }) => keys.get(id) ?? name).sort();
  return { policy, waiting, reason: first.lost, ...(error !== undefined && { error }) };
}
