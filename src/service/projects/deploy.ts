import Type, { type Static } from "typebox";
import { Failure } from "../../contract/errors.ts";
import type { JobStarted } from "../../contract/schemas/jobs.ts";
import type { DeployData, ProjectPayload } from "../../contract/schemas/project.ts";
import { files, flag, optionalJson, text } from "../../contract/schemas/shapes.ts";
import type { ObservedLab } from "../../engine/model/observed.ts";
import type { Operation, Plan } from "../../engine/model/plan.ts";
import { plannedSize } from "../../engine/plan/planned-size.ts";
import { showDiagnostics } from "../../intent/diagnostics/show.ts";
import { applyOperations, doneUnrecorded } from "../changes/apply.ts";
import type { ChangeKind, ChangeRun } from "../changes/change-kind.ts";
import { fetchImages, imageFetches } from "../changes/fetch-images.ts";
import { keepFolders, noteFolder } from "../changes/lab-folders.ts";
import { recordApplied, recordBroken, recordIntent, recordUntouched, refuseLocked, runChange } from "../changes/managed.ts";
import { unstarted } from "../changes/owed-starts.ts";
import { type Planned, planAgainstHost } from "../changes/planned.ts";
import { checkChanged } from "../checks/config-problems.ts";
import { refusals } from "../checks/fit-problems.ts";
import { checkOnHost } from "../checks/host-check.ts";
import type { Caller, ChangeCall } from "../common/call.ts";
import { addressIntent, neededIntent } from "../context/address.ts";
import { sentSource, withSource } from "../context/lab-source.ts";
import { refuseMoved } from "../context/moved.ts";
import type { ChangeParts, HostPart, StorePart, WorkPart } from "../context/parts.ts";
import type { ProjectState } from "../context/state.ts";
import { noIds, type Target } from "../context/target.ts";
import type { Job } from "../jobs/jobs.ts";
import { ownPlacement } from "../placement/own-machine.ts";
import type { JobRow } from "../store/store.ts";
import { type Intent, readSent } from "../work/intents.ts";

/** Journal request of a deploy. */
const DeployRequest = Type.Object({
  yaml: text,
  files,
  replace: flag,
  /** The source of an imported lab. Absent: none came with the change. */
  source: optionalJson,
});
type DeployRequest = Static<typeof DeployRequest>;

export const deployKind: ChangeKind<typeof DeployRequest, DeployData> = {
  operation: "deployProject",
  version: 1,
  request: DeployRequest,
  recover: async ({ context, target }, request, row) => ({
    target: { ...target, ...withSource(request.source), intent: await readSent(context, request.yaml, request.files) },
    request: { ...request, replace: request.replace && !deletedOld(row) },
  }),
  run: deployLab,
};

/** Returns whether an interrupted change has deleted the old lab: the lab at the path is then the incomplete new one. */
export function deletedOld(row: JobRow): boolean {
  return row.steps.slice(0, row.done).some((step) => step.do === "delete-lab");
}

/** Creates the lab and starts it. Throws lab_exists, and invalid_intent with all problems. */
export async function deployProject(
  context: ChangeParts,
  caller: Caller,
  payload: ProjectPayload,
  call: ChangeCall,
): Promise<DeployData | JobStarted> {
  const target = await addressIntent(context, caller, payload);
  const { intent } = target;
  await checkOnHost(context, target.host, intent, { ...(call.signal !== undefined && { signal: call.signal }), deploying: true });
  const replace = payload.replace === true;
  const source = withSource(sentSource(payload.source));
  const request: DeployRequest = { yaml: intent.yaml, files: intent.files, replace, ...source };
  return runChange(context, { ...target, ...source }, call, deployKind, request);
}

async function deployLab({ context, job, target, interrupted }: ChangeRun, { replace }: DeployRequest): Promise<DeployData> {
  const intent = await neededIntent(target);
  const planned = await planAgainstHost(context, target, intent, { direction: "to_host", prune: false, replace });
  const { plan, observed, ids } = planned;
  // An interrupted deploy was allowed when it started; since then it may have created the lab itself.
  if (interrupted === undefined) await refuseDeploy(context, target, intent, planned, replace);
  const known = observed === null ? noIds : ids;
  const fetches = await imageFetches(target.host, plan.operations, { intent: intent.lab, observed, ids });
  await fetchImages(target.host, job, plan.operations, { intent: intent.lab, observed, ids });
  const reportConfigs = checkChanged(context, target.host, intent, plan.operations);
  const state = await applyIntent(context, job, target, intent, { operations: plan.operations, ids: known, replace, observed });
  await reportConfigs(job.warn);
  return { ...deployed(target, intent, state, plan.unsupported), ...fetches };
}

/** Throws lab_exists, operation_not_allowed, lab_locked, and invalid_intent for parts that the host cannot deploy. */
async function refuseDeploy(
  context: HostPart & StorePart & WorkPart,
  target: Target,
  intent: Intent,
  { plan, observed }: Pick<Planned, "plan" | "observed">,
  replace: boolean,
): Promise<void> {
  if (observed !== null && !replace) {
    throw new Failure("lab_exists", `${target.path} exists on the host; a deploy that replaces it stops, wipes, deletes and recreates it`);
  }
  if (observed !== null && target.record === undefined && target.caller.role !== "admin") {
    throw new Failure("operation_not_allowed", `${target.path} is on the host but not managed here; only an admin may replace it`);
  }
  if (observed === null) await refuseMoved(context, target);
  refuseLocked(observed);
  await refuseBlocked(context, plan, intent);
}

interface Steps {
  readonly operations: readonly Operation[];
  readonly ids: Target["ids"];
  readonly replace: boolean;
  readonly observed?: ObservedLab | null;
}

/**
 * Records the intent, runs the steps, and records the result. Returns the state for the client.
 * @param observed the lab that the steps were planned on. Absent: changes by hand during the change are recorded as its own
 */
export async function applyIntent(
  context: ChangeParts,
  job: Job,
  target: Target,
  intent: Intent,
  { operations, ids, replace, observed }: Steps,
): Promise<ProjectState> {
  // The ids of the deleted lab are not valid in the new lab.
  const known = replace ? noIds : ids;
  const before = context.store.labs.get(target.path);
  const planned = observed === undefined ? undefined : { observed: replace ? null : observed, ids, operations };
  const size = plannedSize({
    desired: intent.lab,
    observed: replace ? null : (observed ?? null),
    ids,
    operations,
    rules: await target.host.rules(),
  });
  const { owner } = await recordIntent(context, job, target, intent, {
    ids: known,
    size,
    isMade: operations.some(({ step }) => step.do === "create-lab"),
  });
  const made = new Set<string>();
  const noted: Promise<void>[] = [];
  const madeFolder = (folder: string, isOurs: boolean) => {
    if (isOurs) made.add(folder);
    else made.delete(folder);
    noted.push(noteFolder(context, target.path, folder, isOurs));
  };
  try {
    const applied = await applyOperations(context.consoles, target.host, job, {
      path: target.path,
      operations,
      ids,
      owner,
      madeFolder,
      order: {
        boots: intent.lab.boots ?? [],
        links: intent.lab.links,
        conditions: context.conditions,
        host: target.host,
        path: target.path,
      },
    });
    await Promise.all(noted);
    return await recordApplied(context, target, applied.ids, intent, planned && { ...planned, isWhole: true }).catch((error: unknown) => {
      throw doneUnrecorded(error, operations);
    });
  } catch (error) {
    const owed = unstarted(operations, error);
    try {
      if (nothingApplied(error)) await recordUntouched(context, target, before, owed);
      else await recordBroken(context, target, known, intent, { owed, before: planned && { ...planned, isWhole: false } });
      await keepFolders(context, target, [...made]);
    } catch (unwritten) {
      // The caller needs the failure of the change, with its steps, more than this one.
      context.log("error", "the result of an interrupted change could not be recorded", { lab: target.path, error: String(unwritten) });
    }
    throw error;
  }
}

/** Returns whether a change was interrupted before its first step was done. */
function nothingApplied(error: unknown): boolean {
  if (!(error instanceof Failure)) return false;
  const applied = error.data?.["applied"];
  return error.code === "lab_locked" || (Array.isArray(applied) && applied.length === 0);
}

function deployed(target: Target, { lab }: Intent, state: ProjectState, unsupported: readonly string[]): DeployData {
  return { lab: target.path, ...ownPlacement(), nodes: lab.nodes.length, links: lab.links.length, state, unsupported: [...unsupported] };
}

/** Throws invalid_intent for parts of the intent that this host cannot create: unknown templates, missing images, more memory than is free … */
export async function refuseBlocked(context: HostPart & WorkPart, plan: Plan, intent: Pick<Intent, "yaml" | "files">): Promise<void> {
  if (plan.blocked.length === 0) return;
  const diagnostics = await refusals(context, plan, intent);
  throw new Failure("invalid_intent", showDiagnostics(diagnostics, intent), {
    data: { blocked: plan.blocked, unsupported: plan.unsupported, diagnostics },
  });
}
