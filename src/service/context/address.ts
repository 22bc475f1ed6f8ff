import { Failure } from "../../contract/errors.ts";
import type { HostSession, NativeIds } from "../../hosts/host.ts";
import { isUnreadableLab } from "../../hosts/host-unreadable.ts";
import { checkLabPath } from "../../intent/lab/lab-path.ts";
import { checkFiles } from "../../intent/parse/files.ts";
import { type Manifest, readManifest } from "../../intent/parse/manifest.ts";
import type { Caller } from "../common/call.ts";
import { badRequest, labNotFound, pathNotAvailable } from "../common/refusals.ts";
import { includes, type Right, rightOn, seesUnrecorded } from "../sessions/rights.ts";
import type { LabRecord, ProjectMode } from "../store/store.ts";
import { type Intent, readable, readSent, recordedIntent } from "../work/intents.ts";
import type { Context } from "./context.ts";
import { stateIds } from "./state.ts";

/** The fields by which every payload names its project. */
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

/** The project that a call is about. */
export interface Target {
  readonly path: string;
  readonly mode: ProjectMode;
  /** The manifest asks for mode load. */
  readonly loaded?: true;
  readonly caller: Caller;
  /** The caller's, or the owner's where the lab is shared with the caller. */
  readonly host: HostSession;
  /** Absent: the service does not manage this lab. */
  readonly record?: LabRecord;
  /** As sent, else that of the last apply. */
  readonly intent?: Intent;
  /** The caller sent its yaml. */
  readonly sent: boolean;
  /** Of an import: where the lab comes from. */
  readonly source?: unknown;
  /** Where the caller keeps its intent, in words of its own. */
  readonly origin?: string;
  /** Native ids from the caller's state, else from the record. */
  readonly ids: NativeIds;
}

export const noIds: NativeIds = { nodes: {}, networks: {}, links: {} };

/**
 * Finds the project of a payload. Throws field_not_allowed, bad_request (path, files, manifest, state), invalid_intent, and
 * lab_not_found for the lab of another user, or for a lab without a record that is not for this caller.
 * @param options makes: the operation may make the lab, so that a path that is not to be had is called that
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
  return {
    path,
    ...(loaded && { loaded: true }),
    mode: loaded ? "load" : (record?.mode ?? manifest?.mode ?? (sent === undefined ? "load" : "create")),
    caller,
    host: await context.sessions.hostSessionFor(caller, record?.owner),
    ...(record !== undefined && { record }),
    ...(intent !== undefined && { intent }),
    sent: sent !== undefined,
    ...(payload.origin !== undefined && { origin: payload.origin }),
    ids: given ?? record?.ids ?? noIds,
  };
}

/** Whether a lab is at this path that is not for this caller: another user's, or one without a record. */
export async function isHidden({ host, store }: Context, caller: Caller, path: string): Promise<boolean> {
  const isUnrecorded = store.labs.get(path) === undefined && !seesUnrecorded(host, caller) && (await host.holds?.(path)) === true;
  // Read after the host was asked: the caller's own deploy may have made the lab meanwhile.
  const record = store.labs.get(path);
  return record === undefined ? isUnrecorded : rightOn(record, caller) === undefined;
}

/** The path of the lab that a payload names: by lab, else by its manifest, else by the name in its yaml. Throws bad_request. */
export function pathOf({ lab }: Selector, manifest: Manifest | undefined, name: string | undefined): string {
  const named = lab ?? manifest?.lab ?? name;
  if (named === undefined) throw badRequest("/lab", "a lab is named by lab, or by the name in yaml");
  const checked = checkLabPath(named);
  if ("problem" in checked) throw badRequest(lab === undefined && manifest?.lab !== undefined ? "/manifest" : "/lab", checked.problem);
  return checked.path;
}

/** The parts of a payload that need no lab: dir and out, files, manifest. */
export function checkFields(payload: Omit<Selector, "state">): Manifest | undefined {
  for (const field of ["dir", "out"] as const) {
    if (payload[field] !== undefined && payload[field] !== "") {
      throw new Failure("field_not_allowed", `${field} must be absent or empty: the service writes no client files`, { data: { field } });
    }
  }
  const manifest = manifestOf(payload);
  // Of an observed project they are of no use, and not refused.
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
 * The intent of a change or a plan. Without one: bad_request for a lab that is there, else lab_not_found – as for a lab of another user,
 * so that the two cannot be told apart.
 */
export async function neededIntent(target: Target): Promise<Intent> {
  if (target.intent !== undefined) return target.intent;
  await refuseAbsent(target);
  throw badRequest("/yaml", "the service has no intent of this lab; send yaml");
}

/** Throws lab_not_found for a lab that neither the caller's intent, nor a record, nor the host knows; before rights are looked at. */
export async function refuseAbsent({ intent, record, host, path }: Pick<Target, "intent" | "record" | "host" | "path">): Promise<void> {
  if (intent === undefined && record === undefined && (await host.observe(path)) === null) throw labNotFound(path);
}

/** An observed project's intent may be left out or be of no use: it is not what the call is about. */
async function readLoaded({ work }: Context, { yaml, files = {} }: Selector): Promise<Intent | undefined> {
  return yaml === undefined || checkFiles(files).problems.length > 0 ? undefined : readable(work, yaml, files);
}

/**
 * Before a change: throws lab_not_found for a lab that neither a record nor the host knows, and lab_busy for one that the caller has made just now, of
 * which there is no record before its plan stands.
 */
export async function refuseMissing(context: Context, { caller, record, host, path }: Target): Promise<void> {
  if (record !== undefined || (await isThere(host, path))) return;
  if (makes(context, caller, path)) context.jobs.refuseBusy(path);
  throw labNotFound(path);
}

/** Also a lab that its host cannot read. */
async function isThere(host: Target["host"], path: string): Promise<boolean> {
  try {
    return (await host.observe(path)) !== null;
  } catch (error) {
    if (isUnreadableLab(error)) return true;
    throw error;
  }
}

/** Whether a change of this lab runs that this caller may know of though there is no record. */
export function makes({ jobs }: Pick<Context, "jobs">, caller: Caller, path: string): boolean {
  const running = jobs.running(path);
  return running !== undefined && (running.user === caller.user || caller.role === "admin");
}

/** Throws operation_not_allowed where mode, role or the caller's right forbid a change. */
export function allowChange(target: Target, right: Right = "edit"): void {
  allowUse(target, right);
  if (target.mode === "load") {
    // A lab that a manifest asks to load may be managed all the same.
    const hint = target.record === undefined && { data: { hint: `an admin gives it an owner: labwright adopt ${target.path}` } };
    throw new Failure("operation_not_allowed", `${target.path} is loaded for reading only; it is not managed here`, { ...hint });
  }
}

/** Throws operation_not_allowed where role or right do not reach; what no one manages, its host alone decides on. */
export function allowUse(
  { caller, record, path }: Pick<Target, "caller" | "path"> & { readonly record?: LabRecord | undefined },
  right: Right,
): void {
  if (caller.role === "viewer" && right !== "view")
    throw new Failure("operation_not_allowed", "a viewer may look at labs and not use or change them");
  const have = record && rightOn(record, caller);
  if (have === undefined || includes(have, right)) return;
  const needed = right === "own" ? "only its owner may do this" : `this needs the right to ${right}`;
  throw new Failure("operation_not_allowed", `${path} is shared with you to ${have}: ${needed}`);
}

/** Whoever may not edit a lab gets its secrets masked, as in getPublicProject; a lab that nobody manages is as open as its host. */
export function mayReadSecrets({ record, caller }: Pick<Target, "caller" | "record">): boolean {
  const right = record && rightOn(record, caller);
  return record === undefined || (right !== undefined && includes(right, "edit"));
}

/** Where the intent of a lab is kept may name a person's folders: it is for those who may change the lab. */
export function originOf({ record, caller }: Pick<Target, "caller" | "record">): { readonly origin?: string } {
  return record?.origin !== undefined && mayReadSecrets({ record, caller }) ? { origin: record.origin } : {};
}
