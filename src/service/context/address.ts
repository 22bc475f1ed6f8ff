import { Failure } from "../../contract/errors.ts";
import type { ObservedLab } from "../../engine/model/observed.ts";
import type { HostSession } from "../../hosts/host.ts";
import { isUnreadableLab } from "../../hosts/host-unreadable.ts";
import { showDiagnostics } from "../../intent/diagnostics/show.ts";
import { checkFiles } from "../../intent/parse/files.ts";
import type { Caller } from "../common/call.ts";
import { currentCall } from "../common/current-call.ts";
import { badRequest, labNotFound, pathNotAvailable } from "../common/refusals.ts";
import { leaseAfter, leaseEnd } from "../leases/lease.ts";
import { placeProblems } from "../placement/place-problems.ts";
import { refuseElsewhere } from "../placement/refuse-elsewhere.ts";
import { reservedRoom } from "../reservations/admit.ts";
import { recordFor } from "../sessions/record-for.ts";
import { type Right, refuseOutOfReach, rightOn, seesUnrecorded } from "../sessions/rights.ts";
import type { LabRecord } from "../store/store.ts";
import { type Intent, readable, readSent, recordedIntent } from "../work/intents.ts";
import { allowChange, allowUse } from "./allow.ts";
import type { HostPart, JobsPart, LookupParts, SessionsPart, StorePart, WorkPart } from "./parts.ts";
import { checkFields, pathOf, type Selector } from "./selector.ts";
import { stateIds } from "./state.ts";
import { type LabPlace, noIds, type Target, type WantedTarget } from "./target.ts";

/*
 * Each operation finds its project with one function of this file, and gets the result of all checks that come before its own work. The checks are
 * always in this order: the payload, whether the caller may see the lab, whether the lab exists, whether the caller may do this, the intent.
 */

/**
 * Finds the project of a payload. Throws field_not_allowed, bad_request (path, files, manifest, state), invalid_intent, and
 * lab_not_found for the lab of another user, or for a lab without a record that is not for this caller; and as refuseOutOfReach.
 * @param options makes: the operation may create the lab, or plans that, so that a taken path is reported as not available
 */
export async function addressProject(
  context: LookupParts,
  caller: Caller,
  payload: Selector,
  options: { readonly makes?: "now" | "planned" | undefined } = {},
): Promise<Target> {
  const manifest = checkFields(payload);
  const loaded = manifest?.mode === "load";
  const sent = await (loaded ? readLoaded(context, payload) : readPayload(context, payload));
  const path = pathOf(payload, manifest, sent?.lab.name);
  currentCall.getStore()?.onLab?.(path);
  refuseOutOfReach(caller, path);
  const hidden = () => (options.makes !== undefined && sent !== undefined && !loaded ? pathNotAvailable(path) : labNotFound(path));
  await refuseElsewhere(context, path, (record) => (rightOn(record, caller) === undefined ? hidden() : undefined));

  if (await isHidden(context, caller, path)) throw hidden();
  const record = context.store.labs.get(path);
  if (options.makes !== undefined && sent !== undefined && !loaded)
    await placeNew(context, path, sent, { isRecorded: record !== undefined, isMade: options.makes === "now" });
  const given = loaded || payload.state === undefined || payload.state === null ? undefined : stateIds(payload.state, context.host, path);
  const intent = sent ?? (await recordedIntent(context, record));
  const place = await placeOf(context, caller, path, record);
  return {
    ...place,
    ...(loaded && { loaded: true }),
    mode: loaded ? "load" : (record?.mode ?? manifest?.mode ?? (sent === undefined ? "load" : "create")),
    ...(intent !== undefined && { intent }),
    sent: sent !== undefined,
    ...(payload.origin !== undefined && { origin: payload.origin }),
    ids: given ?? place.ids,
  };
}

/** Chooses the machine of a new lab, and of one whose machine was removed from the fleet. Throws invalid_intent if no machine can be the one that its text wants. A lab that is on this machine already stays here. */
async function placeNew(
  context: LookupParts,
  path: string,
  intent: Intent,
  { isRecorded, isMade }: { readonly isRecorded: boolean; readonly isMade: boolean },
): Promise<void> {
  const { store, host, placements } = context;
  const machines = store.shared?.machines;
  if (machines?.own === undefined || (isRecorded && !(await machines.isOrphaned(path)))) return;
  if ((await host.holds?.(path)) === true) return;
  const { lab } = intent;
  const diagnostics = await placeProblems(machines, lab.place, (field) =>
    context.work.fieldPlaces(intent.yaml, intent.files, [{ kind: "lab", key: path, field }]),
  );
  if (diagnostics.length > 0) throw new Failure("invalid_intent", showDiagnostics(diagnostics, intent), { data: { diagnostics } });
  const now = Date.now();
  const until = leaseEnd(leaseAfter(undefined, lab.lease, now));
  const reserved = (owner: string, memory: number) =>
    reservedRoom(context, { path, owner, size: { memory, nodes: lab.nodes.length }, until, now });
  await placements.place(machines, path, lab, { isMade, reserved });
}

/** Returns the lab at a path that the caller may use. `record`: the record of the lab, which the function that calls has read. */
export async function placeOf({ sessions }: SessionsPart, caller: Caller, path: string, record: LabRecord | undefined): Promise<LabPlace> {
  const host = await sessions.hostSessionFor(caller, record?.owner);
  return { path, caller, host, ...(record !== undefined && { record }), ids: record?.ids ?? noIds };
}

/**
 * Finds a lab by the path that a ticket or a capture has kept. The right may have been revoked since then: throws lab_not_found if the caller may not see
 * the lab now, and operation_not_allowed if `right` is not sufficient.
 */
export async function addressPath(context: LookupParts, caller: Caller, path: string, right: Right = "view"): Promise<LabPlace> {
  currentCall.getStore()?.onLab?.(path);
  await refuseElsewhere(context, path, (known) => (rightOn(known, caller) === undefined ? labNotFound(path) : undefined));
  const record = recordFor(context, caller, path);
  if (right !== "view") allowUse({ caller, record, path }, right);
  return placeOf(context, caller, path, record);
}

/** The target of a change that no caller waits for: one that a restart interrupted, or a restore of a lab. The record has its intent. */
export async function addressRecorded(
  context: StorePart & WorkPart,
  path: string,
  user: string,
  host: HostSession,
  session: string,
): Promise<Target> {
  const record = context.store.labs.get(path);
  const intent = await recordedIntent(context, record);
  return {
    path,
    mode: record?.mode ?? "create",
    caller: { user, role: host.role, session },
    host,
    ...(record !== undefined && { record }),
    ...(intent !== undefined && { intent }),
    sent: false,
    ids: record?.ids ?? noIds,
  };
}

/** Reads the lab of a project from its host, or from a cache of it. `null`: the host has no such lab. */
type ReadLab = (place: LabPlace) => Promise<ObservedLab | null>;

const observe: ReadLab = ({ host, path }) => host.observe(path);

/**
 * Finds the project of a read that needs an existing lab: a sent text does not replace it. A lab with a record exists, even if the host has lost it.
 * Throws as addressProject, and lab_not_found.
 */
export async function addressExisting(context: LookupParts, caller: Caller, payload: Selector, read = observe): Promise<Target> {
  const target = await addressProject(context, caller, payload);
  if (target.record === undefined && (await read(target)) === null) throw labNotFound(target.path);
  return target;
}

/**
 * Finds the project of an operation on the lab as its host has it now. Throws as addressProject, lab_not_found if the host has no such lab, and
 * operation_not_allowed.
 */
export async function addressObserved(
  context: LookupParts,
  caller: Caller,
  payload: Selector,
  right: Right,
  read = observe,
): Promise<{ readonly target: Target; readonly observed: ObservedLab }> {
  const target = await addressProject(context, caller, payload);
  const observed = await read(target);
  if (observed === null) throw labNotFound(target.path);
  allowUse(target, right);
  return { target, observed };
}

/** Finds the project of an operation on a lab's record. Throws as addressProject, lab_not_found for an unmanaged lab, and operation_not_allowed. */
export async function addressManaged(
  context: LookupParts,
  caller: Caller,
  payload: Selector,
  right: Right,
): Promise<Target & { readonly record: LabRecord }> {
  const target = await addressProject(context, caller, payload);
  const { record, path } = target;
  if (record === undefined) throw labNotFound(path);
  allowUse(target, right);
  return { ...target, record };
}

/** Finds the project of a read of its text as it was written: a sent text, or an existing lab. Throws as addressProject, and operation_not_allowed. */
export async function addressText(context: LookupParts, caller: Caller, payload: Selector): Promise<Target> {
  const target = await addressProject(context, caller, payload);
  await refuseAbsent(target);
  allowUse(target, "edit");
  return target;
}

/** Finds the project of a change of its text: a sent text, or the recorded one. Throws as addressProject, allowChange and neededIntent. */
export async function addressEdit(context: LookupParts, caller: Caller, payload: Selector): Promise<WantedTarget> {
  const target = await addressProject(context, caller, payload);
  await refuseAbsent(target);
  allowChange(target);
  return { ...target, intent: await neededIntent(target) };
}

/** Finds the project of a change that applies an intent and may make the lab. Throws as addressProject, neededIntent and allowChange. */
export async function addressIntent(context: LookupParts, caller: Caller, payload: Selector): Promise<WantedTarget> {
  const target = await addressProject(context, caller, payload, { makes: "now" });
  const intent = await neededIntent(target);
  allowChange(target);
  return { ...target, intent };
}

/**
 * Finds the project of a change of an existing lab, and checks that the caller may change it. Throws as addressProject, refuseMissing and allowChange,
 * in this order: a caller without any right on the lab gets lab_not_found.
 */
export async function addressChange(
  context: LookupParts & JobsPart,
  caller: Caller,
  payload: Selector,
  right: Right = "edit",
): Promise<Target> {
  const target = await addressProject(context, caller, payload);
  await refuseMissing(context, target);
  allowChange(target, right);
  return target;
}

/** Finds the project of a destroy: as addressChange for its owner. An admin may also remove a lab that the service does not manage. */
export async function addressDestroy(context: LookupParts & JobsPart, caller: Caller, payload: Selector): Promise<Target> {
  const target = await addressProject(context, caller, payload);
  await refuseMissing(context, target);
  if (target.record !== undefined) allowChange(target, "own");
  else if (caller.role !== "admin" || target.loaded === true)
    throw new Failure("operation_not_allowed", `${target.path} is on the host but not managed here; only an admin may destroy it`);
  return target;
}

/** Returns whether the lab at this path is not visible to this caller: another user's lab, or a lab without a record. */
export async function isHidden({ host, store }: HostPart & StorePart, caller: Caller, path: string): Promise<boolean> {
  const isUnrecorded = store.labs.get(path) === undefined && !seesUnrecorded(host, caller) && (await host.holds?.(path)) === true;
  // Read after the host: the caller's own deploy may have created the lab in between.
  const record = store.labs.get(path);
  return record === undefined ? isUnrecorded : rightOn(record, caller) === undefined;
}

async function readPayload(context: WorkPart, { yaml, files = {} }: Selector): Promise<Intent | undefined> {
  return yaml === undefined ? undefined : readSent(context, yaml, files);
}

/** The intent of an observed project is optional: it is ignored if it is invalid. */
async function readLoaded({ work }: WorkPart, { yaml, files = {} }: Selector): Promise<Intent | undefined> {
  return yaml === undefined || checkFiles(files).problems.length > 0 ? undefined : readable(work, yaml, files);
}

/**
 * Returns the intent of a change or a plan. Without one it throws bad_request for an existing lab, else lab_not_found: the same code as for another
 * user's lab, so that callers cannot distinguish the two.
 */
export async function neededIntent(target: Target): Promise<Intent> {
  if (target.intent !== undefined) return target.intent;
  await refuseAbsent(target);
  throw badRequest("/yaml", "the service has no intent of this lab; send yaml");
}

/** Throws lab_not_found if neither the caller's intent, nor a record, nor the host has the lab. Called before rights are checked. */
async function refuseAbsent({ intent, record, host, path }: Pick<Target, "intent" | "record" | "host" | "path">): Promise<void> {
  if (intent === undefined && record === undefined && (await host.observe(path)) === null) throw labNotFound(path);
}

/**
 * Before a change: throws lab_not_found if neither a record nor the host has the lab, and lab_busy if the caller's first change of the lab runs and
 * has not written a record yet.
 */
async function refuseMissing(context: JobsPart, { caller, record, host, path }: Target): Promise<void> {
  if (record !== undefined || (await isThere(host, path))) return;
  if (makes(context, caller, path)) context.jobs.refuseBusy(path);
  throw labNotFound(path);
}

/** Returns whether the host has the lab. True also for a lab that the host cannot read. */
async function isThere(host: Target["host"], path: string): Promise<boolean> {
  try {
    return (await host.observe(path)) !== null;
  } catch (error) {
    if (isUnreadableLab(error)) return true;
    throw error;
  }
}

/** Returns whether a change by this caller (for admins: by any user) of this lab runs. */
export function makes({ jobs }: JobsPart, caller: Caller, path: string): boolean {
  const running = jobs.running(path);
  return running !== undefined && (running.user === caller.user || caller.role === "admin");
}
