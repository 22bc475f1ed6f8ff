import Type, { type Static } from "typebox";
import { compareNatural } from "../../base/natural-order.ts";
import { Failure } from "../../contract/errors.ts";
import type { JobStarted } from "../../contract/schemas/jobs.ts";
import type { ProjectPayload } from "../../contract/schemas/project.ts";
import { text } from "../../contract/schemas/shapes.ts";
import type {
  SnapshotPayload,
  SnapshotRemovedData,
  SnapshotRestoredData,
  SnapshotsData,
  SnapshotTakenData,
  SnapshotTakePayload,
} from "../../contract/schemas/snapshots.ts";
import { endpointKeys, joinIds } from "../../engine/compare/join.ts";
import type { HostSession } from "../../hosts/host.ts";
import type { HostSnapshots, LabSnapshot } from "../../hosts/host-snapshots.ts";
import type { ChangeKind } from "../changes/change-kind.ts";
import { recordRestored, refuseLocked, runChange } from "../changes/managed.ts";
import type { Caller, ChangeCall } from "../common/call.ts";
import { unsupported } from "../common/capabilities.ts";
import { timeText } from "../common/clock.ts";
import { badRequest, labNotFound } from "../common/refusals.ts";
import { addressChange, addressExisting } from "../context/address.ts";
import type { ChangeParts, ClockPart, HostPart, JobsPart, LookupParts, StorePart } from "../context/parts.ts";
import type { Target } from "../context/target.ts";
import type { Job } from "../jobs/jobs.ts";

/** Journal request of a snapshot change. */
const SnapshotRequest = Type.Object({ snapshot: text });
type SnapshotRequest = Static<typeof SnapshotRequest>;

export const takeSnapshotKind: ChangeKind<typeof SnapshotRequest, SnapshotTakenData> = {
  operation: "takeSnapshot",
  version: 1,
  request: SnapshotRequest,
  isStepless: true,
  keptFacts: ({ snapshot }) => ({ snapshot }),
  run: async ({ context, job, target, interrupted }, request) =>
    makeSnapshot(job, target, request, interrupted?.startedAt ?? (await interruptedAt(context, target, request))),
};

export const restoreSnapshotKind: ChangeKind<typeof SnapshotRequest, SnapshotRestoredData> = {
  operation: "restoreSnapshot",
  version: 1,
  request: SnapshotRequest,
  isStepless: true,
  run: ({ context, job, target }, request) => restoreLab(context, job, target, request),
};

export const removeSnapshotKind: ChangeKind<typeof SnapshotRequest, SnapshotRemovedData> = {
  operation: "removeSnapshot",
  version: 1,
  request: SnapshotRequest,
  isStepless: true,
  run: ({ job, target, interrupted }, request) => deleteSnapshot(job, target, request, interrupted !== undefined),
};

/** Snapshots of a lab. Throws unsupported if the host has none. */
export async function listSnapshots(context: LookupParts, caller: Caller, payload: ProjectPayload): Promise<SnapshotsData> {
  const { host, path } = await addressExisting(context, caller, payload);
  const snapshots = await (await snapshotsOf(host)).list(path);
  return { lab: path, snapshots: snapshots.map(({ name, takenAt }) => ({ snapshot: name, taken_at: timeText(takenAt) })) };
}

export async function takeSnapshot(
  context: ChangeParts,
  caller: Caller,
  payload: SnapshotTakePayload,
  call: ChangeCall,
): Promise<SnapshotTakenData | JobStarted> {
  const target = await changeable(context, caller, payload);
  const snapshot = payload.snapshot ?? timeName(context.clock.now());
  const problem = nameProblem(snapshot);
  if (problem !== undefined) throw badRequest("/snapshot", problem);
  return runChange(context, target, call, takeSnapshotKind, { snapshot });
}

/** Returns when the lab's last change began, if a restart of the service ended it and it took this snapshot. The host may have it in spite of that. */
async function interruptedAt({ store }: StorePart, { path, record }: Target, { snapshot }: SnapshotRequest): Promise<number | undefined> {
  const last = await store.jobs.lastOf(path, record);
  if (last?.operation !== "takeSnapshot" || last.outcome !== "interrupted") return undefined;
  return (last.error?.data as { readonly snapshot?: unknown } | undefined)?.snapshot === snapshot ? last.startedAt : undefined;
}

/** @param since when a change began that may have taken the snapshot: an older snapshot of that name is another one, ms */
async function makeSnapshot(
  job: Job,
  { host, path }: Target,
  { snapshot }: SnapshotRequest,
  since: number | undefined,
): Promise<SnapshotTakenData> {
  job.signal.throwIfAborted();
  const snapshots = await snapshotsOf(host);
  // Hosts have times in whole seconds.
  const isOurs = ({ name, takenAt }: LabSnapshot) => since !== undefined && name === snapshot && takenAt > since - 1000;
  const made = since === undefined ? undefined : (await snapshots.list(path)).find(isOurs);
  const { name, takenAt } = made ?? (await snapshots.take(path, snapshot));
  const observed = await host.observe(path);
  if (observed === null) throw labNotFound(path);
  return { lab: path, snapshot: name, taken_at: timeText(takenAt), nodes: observed.nodes.length };
}

export async function restoreSnapshot(
  context: ChangeParts,
  caller: Caller,
  payload: SnapshotPayload,
  call: ChangeCall,
): Promise<SnapshotRestoredData | JobStarted> {
  const target = await changeable(context, caller, payload);
  return runChange(context, target, call, restoreSnapshotKind, { snapshot: payload.snapshot });
}

/** Safe to repeat. The intent stays unchanged: a plan shows the differences, as after a change by hand on the host. */
async function restoreLab(
  context: HostPart & StorePart & ClockPart,
  job: Job,
  target: Target,
  { snapshot }: SnapshotRequest,
): Promise<SnapshotRestoredData> {
  const { host, path } = target;
  job.signal.throwIfAborted();
  const snapshots = await snapshotsOf(host);
  const observed = await host.observe(path);
  if (observed === null) throw labNotFound(path);
  refuseLocked(observed);
  const known = joinIds(target.intent?.lab ?? null, observed, target.ids);
  const restored = await snapshots.restore(path, snapshot, known);
  const { state, keys } = await recordRestored(context, target, restored.ids);
  const nodes = restored.nodes
    .map(({ id, name, disk }) => ({ node: keys.get(id) ?? name, disk }))
    .sort((a, b) => compareNatural(a.node, b.node));
  const before = endpointKeys(known).nodes;
  const removed = restored.removed.map(({ id, name }) => before.get(id) ?? name);
  return { lab: path, snapshot, nodes, removed, not_restored: notRestored(nodes, removed), state };
}

export async function removeSnapshot(
  context: ChangeParts,
  caller: Caller,
  payload: SnapshotPayload,
  call: ChangeCall,
): Promise<SnapshotRemovedData | JobStarted> {
  const target = await changeable(context, caller, payload);
  return runChange(context, target, call, removeSnapshotKind, { snapshot: payload.snapshot });
}

/** @param again whether the snapshot may be gone: a crash cut this change off */
async function deleteSnapshot(
  job: Job,
  { host, path }: Target,
  { snapshot }: SnapshotRequest,
  again = false,
): Promise<SnapshotRemovedData> {
  job.signal.throwIfAborted();
  try {
    await (await snapshotsOf(host)).remove(path, snapshot);
  } catch (error) {
    if (!again || !(error instanceof Failure) || error.code !== "snapshot_not_found") throw error;
  }
  return { lab: path, snapshot };
}

/** The project of a change. Throws lab_not_found, operation_not_allowed, unsupported. */
async function changeable(context: LookupParts & JobsPart, caller: Caller, payload: SnapshotTakePayload): Promise<Target> {
  const target = await addressChange(context, caller, payload);
  await snapshotsOf(target.host);
  return target;
}

/** Throws unsupported. */
async function snapshotsOf(host: HostSession): Promise<HostSnapshots> {
  if (!(await host.capabilities()).features.snapshots || host.snapshots === undefined) throw unsupported("snapshots");
  return host.snapshots;
}

function nameProblem(name: string): string | undefined {
  if (/^[A-Za-z0-9_-](?:[A-Za-z0-9_ -]{0,62}[A-Za-z0-9_-])?$/.test(name)) return undefined;
  return "the name of a snapshot is 1 to 64 letters, digits, spaces, underscores and hyphens, without a space at its ends";
}

/** 2026-11-22-190430 */
function timeName(now: number): string {
  return timeText(now).slice(0, 19).replace("T", "-").replaceAll(":", "");
}

function notRestored(
  nodes: readonly { readonly node: string; readonly disk: "kept" | "new" }[],
  removed: readonly string[],
): readonly string[] {
  const named = (disk: "kept" | "new") => nodes.filter((one) => one.disk === disk).map(({ node }) => node);
  const [kept, fresh] = [named("kept"), named("new")];
  return [
    "a snapshot holds no disks, so none was restored",
    ...(kept.length > 0 ? [`${kept.join(", ")}: the disk is unchanged from before the restore`] : []),
    ...(fresh.length > 0 ? [`${fresh.join(", ")}: the disk is empty; the node starts with its image and its startup configuration`] : []),
    ...(removed.length > 0 ? [`${removed.join(", ")}: deleted with the disk, because the snapshot has no such node`] : []),
  ];
}
