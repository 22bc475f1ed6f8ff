import { shellWord } from "../../base/shell-word.ts";
import { Failure } from "../../contract/errors.ts";
import type { HostSession, NativeIds } from "../../hosts/host.ts";
import { isUnreadableLab } from "../../hosts/host-unreadable.ts";
import { checkLabPath } from "../../intent/lab/lab-path.ts";
import { checkFiles } from "../../intent/parse/files.ts";
import { type Manifest, readManifest } from "../../intent/parse/manifest.ts";
import type { Caller } from "../common/call.ts";
import { badRequest, labNotFound, pathNotAvailable } from "../common/refusals.ts";
import { recordFor } from "../sessions/record-for.ts";
import { includes, type Right, rightOn, seesUnrecorded } from "../sessions/rights.ts";
import type { LabRecord, ProjectMode } from "../store/store.ts";
import { type Intent, readable, readSent, recordedIntent } from "../work/intents.ts";
import type { Context } from "./context.ts";
import { stateIds } from "./state.ts";

/** Fields of every payload that name its project. */
export interface Selector {
  readonly lab?: string;
  readonly yaml?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly state?: unknown;
  readonly manifest?: string;
  readonly dir?: string;
  readonly out?: string;
  readonly origin?: string;
}

/** The project of a call. */
export interface Target {
  readonly path: string;
  readonly mode: ProjectMode;
  /** The manifest asks for mode load. */
  readonly loaded?: true;
  readonly caller: Caller;
  /** The caller's session, or the owner's if the lab is shared with the caller. */
  readonly host: HostSession;
  /** Absent: the service does not manage this lab. */
  readonly record?: LabRecord;
  /** The sent intent, else the intent of the last apply. */
  readonly intent?: Intent;
  /** The caller sent its yaml. */
  readonly sent: boolean;
  /** For an import: the source of the lab. */
  readonly source?: unknown;
  /** Free text of the caller about where the intent is kept. */
  readonly origin?: string;
  /** Native ids from the caller's state, else from the record. */
  readonly ids: NativeIds;
}

export const noIds: NativeIds = { nodes: {}, networks: {}, links: {} };

/**
 * Finds the project of a payload. Throws field_not_allowed, bad_request (path, files, manifest, state), invalid_intent, and
 * lab_not_found for the lab of another user, or for a lab without a record that is not for this caller.
 * @param options makes: the operation may create the lab, so that a taken path is reported as not available
 */
export async function addressProject(
  context: Context,
  caller: Caller,
  payload: Selector,
  options: { readonly makes?: boolean } = {},
): Promise<Target> {
  const manifest = checkFields(payload);
  const loaded = manifest?.mode === "load";
  const sent = await (loaded ? readLoaded(context, payload) : readPayload(context, payload));
  const path = pathOf(payload, manifest, sent?.lab.name);

  if (await isHidden(context, caller, path)) {
    throw options.makes === true && sent !== undefined && !loaded ? pathNotAvailable(path) : labNotFound(path);
  }
  const record = context.store.labs.get(path);
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

/** The lab at a path, for one caller: the part of a Target that needs no payload. */
export type LabPlace = Pick<Target, "path" | "caller" | "host" | "record" | "ids">;

/** Returns the lab at a path that the caller may use. `record`: the record of the lab, which the function that calls has read. */
export async function placeOf(
  { sessions }: Pick<Context, "sessions">,
  caller: Caller,
  path: string,
  record: LabRecord | undefined,
): Promise<LabPlace> {
  const host = await sessions.hostSessionFor(caller, record?.owner);
  return { path, caller, host, ...(record !== undefined && { record }), ids: record?.ids ?? noIds };
}

/**
 * Finds a lab by the path that a ticket or a capture has kept. The right may have been revoked since then: throws lab_not_found if the caller may not see
 * the lab now, and operation_not_allowed if `right` is not sufficient.
 */
export async function addressPath(
  context: Pick<Context, "host" | "store" | "sessions">,
  caller: Caller,
  path: string,
  right: Right = "view",
): Promise<LabPlace> {
  const record = recordFor(context, caller, path);
  if (right !== "view") allowUse({ caller, record, path }, right);
  return placeOf(context, caller, path, record);
}

/** The target of a change that no caller waits for: one that a restart interrupted, or a restore of a lab. The record has its intent. */
export async function addressRecorded(
  context: Pick<Context, "store" | "work">,
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

/** Finds the project of a read that needs an existing lab: a sent text does not replace it. Throws as addressProject, and lab_not_found. */
export async function addressExisting(context: Context, caller: Caller, payload: Selector): Promise<Target> {
  const target = await addressProject(context, caller, payload);
  const { record, host, path } = target;
  await refuseAbsent({ ...(record !== undefined && { record }), host, path });
  return target;
}

/** A project with the intent that a change applies. */
export type WantedTarget = Target & { readonly intent: Intent };

/** Finds the project of a change that applies an intent and may make the lab. Throws as addressProject, neededIntent and allowChange. */
export async function addressIntent(context: Context, caller: Caller, payload: Selector): Promise<WantedTarget> {
  return allowIntent(await addressProject(context, caller, payload, { makes: true }));
}

/** Checks that the caller may apply the intent of the target. Throws as neededIntent and allowChange. */
export async function allowIntent(target: Target): Promise<WantedTarget> {
  const intent = await neededIntent(target);
  allowChange(target);
  return { ...target, intent };
}

/**
 * Finds the project of a change of an existing lab, and checks that the caller may change it. Throws as addressProject, refuseMissing and allowChange,
 * in this order: a caller without any right on the lab gets lab_not_found.
 */
export async function addressChange(context: Context, caller: Caller, payload: Selector, right: Right = "edit"): Promise<Target> {
  const target = await addressProject(context, caller, payload);
  await refuseMissing(context, target);
  allowChange(target, right);
  return target;
}

/** Returns whether the lab at this path is not visible to this caller: another user's lab, or a lab without a record. */
export async function isHidden({ host, store }: Context, caller: Caller, path: string): Promise<boolean> {
  const isUnrecorded = store.labs.get(path) === undefined && !seesUnrecorded(host, caller) && (await host.holds?.(path)) === true;
  // Read after the host: the caller's own deploy may have created the lab in between.
  const record = store.labs.get(path);
  return record === undefined ? isUnrecorded : rightOn(record, caller) === undefined;
}

/** Returns the lab path of a payload: `lab`, else from its manifest, else the name in its yaml. Throws bad_request. */
export function pathOf({ lab }: Selector, manifest: Manifest | undefined, name: string | undefined): string {
  const named = lab ?? manifest?.lab ?? name;
  if (named === undefined) throw badRequest("/lab", "no lab is named: set lab, or a name in yaml");
  const checked = checkLabPath(named);
  if ("problem" in checked) throw badRequest(lab === undefined && manifest?.lab !== undefined ? "/manifest" : "/lab", checked.problem);
  return checked.path;
}

/** Checks the fields that need no lab: dir, out, files, manifest. */
export function checkFields(payload: Omit<Selector, "state">): Manifest | undefined {
  for (const field of ["dir", "out"] as const) {
    if (payload[field] !== undefined && payload[field] !== "") {
      throw new Failure("field_not_allowed", `${field} must be absent or empty: the service writes no client files`, { data: { field } });
    }
  }
  const manifest = manifestOf(payload);
  // For an observed project, files are unused and therefore not checked.
  if (payload.files !== undefined && manifest?.mode !== "load") {
    const { problems } = checkFiles(payload.files);
    if (problems.length > 0) {
      throw new Failure("bad_request", problems[0]!.message, {
        data: { problems: problems.map(({ path, message }) => ({ path, message })) },
      });
    }
  }
  return manifest;
}

function manifestOf({ manifest }: Pick<Selector, "manifest">): Manifest | undefined {
  if (manifest === undefined) return undefined;
  const read = readManifest(manifest);
  if ("problem" in read) throw badRequest("/manifest", read.problem);
  return read.manifest;
}

async function readPayload(context: Context, { yaml, files = {} }: Selector): Promise<Intent | undefined> {
  return yaml === undefined ? undefined : readSent(context, yaml, files);
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
export async function refuseAbsent({ intent, record, host, path }: Pick<Target, "intent" | "record" | "host" | "path">): Promise<void> {
  if (intent === undefined && record === undefined && (await host.observe(path)) === null) throw labNotFound(path);
}

/** The intent of an observed project is optional: it is ignored if it is invalid. */
async function readLoaded({ work }: Context, { yaml, files = {} }: Selector): Promise<Intent | undefined> {
  return yaml === undefined || checkFiles(files).problems.length > 0 ? undefined : readable(work, yaml, files);
}

/**
 * Before a change: throws lab_not_found if neither a record nor the host has the lab, and lab_busy if the caller's first change of the lab runs and
 * has not written a record yet.
 */
export async function refuseMissing(context: Context, { caller, record, host, path }: Target): Promise<void> {
  if (record !== undefined || (await isThere(host, path))) return;
  if (makes(context, caller, path)) context.jobs.refuseBusy(path);
  throw labNotFound(path);
}

/** Returns true also for a lab that its host cannot read. */
async function isThere(host: Target["host"], path: string): Promise<boolean> {
  try {
    return (await host.observe(path)) !== null;
  } catch (error) {
    if (isUnreadableLab(error)) return true;
    throw error;
  }
}

/** Returns whether a change by this caller (for admins: by any user) of this lab runs. */
export function makes({ jobs }: Pick<Context, "jobs">, caller: Caller, path: string): boolean {
  const running = jobs.running(path);
  return running !== undefined && (running.user === caller.user || caller.role === "admin");
}

/** Throws operation_not_allowed if the mode, role or right of the caller forbids a change. */
export function allowChange(target: Target, right: Right = "edit"): void {
  allowUse(target, right);
  if (target.mode === "load") {
    // A managed lab may also be loaded by a manifest.
    const hint = target.record === undefined && {
      data: { hint: `an admin can assign an owner: labwright adopt ${shellWord(target.path)}` },
    };
    throw new Failure("operation_not_allowed", `${target.path} is read-only: the service does not manage it`, { ...hint });
  }
}

/** Throws operation_not_allowed if the role or right is not sufficient. For an unmanaged lab, only its host decides. */
export function allowUse(
  { caller, record, path }: Pick<Target, "caller" | "path"> & { readonly record?: LabRecord | undefined },
  right: Right,
): void {
  if (caller.role === "viewer" && right !== "view")
    throw new Failure("operation_not_allowed", "viewers may read labs, but not use or change them");
  const have = record && rightOn(record, caller);
  if (have === undefined || includes(have, right)) return;
  const needed = right === "own" ? "only its owner may do this" : `this needs the right to ${right}`;
  throw new Failure("operation_not_allowed", `${path} is shared with you to ${have}: ${needed}`);
}

/** Only users who may edit a lab read its secrets; others get them redacted, as in getPublicProject. An unmanaged lab is as open as its host. */
export function mayReadSecrets({ record, caller }: Pick<Target, "caller" | "record">): boolean {
  const right = record && rightOn(record, caller);
  return record === undefined || (right !== undefined && includes(right, "edit"));
}

/** The origin may contain a person's folder names: only users who may edit the lab get it. */
export function originOf({ record, caller }: Pick<Target, "caller" | "record">): { readonly origin?: string } {
  return record?.origin !== undefined && mayReadSecrets({ record, caller }) ? { origin: record.origin } : {};
}
