import Type from "typebox";
import type { JobStarted } from "../../contract/schemas/jobs.ts";
import type { ReconcileData } from "../../contract/schemas/plan.ts";
import type { ProjectPayload } from "../../contract/schemas/project.ts";
import { joinIds } from "../../engine/compare/join.ts";
import { maskLab } from "../../engine/show/mask.ts";
import { unmaskLab } from "../../engine/show/unmask.ts";
import type { Lab } from "../../intent/lab/lab.ts";
import { printManifest } from "../../intent/parse/manifest.ts";
import { type IntentText, printLab } from "../../intent/write/print.ts";
import type { ChangeKind } from "../changes/change-kind.ts";
import { runChange, snapshot } from "../changes/managed.ts";
import { planAgainstHost, refuseUnseen } from "../changes/planned.ts";
import { recordHistory } from "../changes/record-history.ts";
import type { ChangeCall } from "../common/call.ts";
import { labNotFound } from "../common/refusals.ts";
import { mayReadSecrets } from "../context/allow.ts";
import { sourceOf, withSource } from "../context/lab-source.ts";
import type { ChangeParts, ClockPart, LookupParts, PlansPart, WorkPart } from "../context/parts.ts";
import { projectState } from "../context/state.ts";
import type { Target } from "../context/target.ts";
import { unquoted } from "../context/unquoted.ts";
import type { Job } from "../jobs/jobs.ts";
import { includes, rightOn } from "../sessions/rights.ts";
import type { LabRecord } from "../store/store.ts";
import { readSent } from "../work/intents.ts";
import { capturedIntent } from "./captured-intent.ts";
import { newestPlan, plannable, planStale } from "./plan-project.ts";

/** A pull changes nothing on the host: recovery rolls it back, because it has no steps. */
const PullRequest = Type.Object({ direction: Type.Literal("from_host") });

/**
 * Returns the host's persisted definition as intent: an edit of the caller's yaml, else of the yaml of the last apply, else newly printed. Nothing is
 * written to the host. The record of a managed lab gets that intent, unless `peek` is set.
 */
export async function reconcileFromHost(
  context: ChangeParts,
  target: Target,
  payload: ProjectPayload,
  call: ChangeCall,
): Promise<ReconcileData | JobStarted> {
  const { record, caller } = target;
  const right = record && rightOn(record, caller);
  const mayRecord = right !== undefined && includes(right, "edit") && target.mode !== "load";
  if (!mayRecord || payload.peek === true) return unquoted(target, () => captureIntent(context, target, payload, undefined));
  // Runs as a job, so that a partly applied change is not read as the lab.
  const kind: ChangeKind<typeof PullRequest, ReconcileData> = {
    operation: "reconcileProject",
    version: 1,
    request: PullRequest,
    run: ({ job }) => captureIntent(context, target, payload, job),
  };
  return runChange(context, target, call, kind, { direction: "from_host" });
}

async function captureIntent(
  context: LookupParts & ClockPart & PlansPart,
  target: Target,
  payload: ProjectPayload,
  /** The change that records the intent; undefined: it is not recorded. */
  job: Pick<Job, "id"> | undefined,
): Promise<ReconcileData> {
  const { path, host, intent, record } = target;
  if (payload.plan_identity !== undefined) {
    const masked = !mayReadSecrets(target);
    const options = { direction: "from_host", prune: payload.prune === true, replace: false, masked } as const;
    const { identity } = await planAgainstHost(context, target, await plannable(target, "from_host"), options);
    if (payload.plan_identity !== newestPlan(context, target, "from_host") || payload.plan_identity !== identity) throw planStale();
  }
  const [rules, observed] = await Promise.all([host.rules(), host.observe(path)]);
  if (observed === null) throw labNotFound(path);
  refuseUnseen(observed);
  const ids = joinIds(intent?.lab ?? null, observed, target.ids);
  const lab = await capturedIntent(context, target, observed, rules);
  const text = intent === undefined ? printLab(lab) : await context.work.edit(intent.yaml, intent.files, lab);
  const shown = mayReadSecrets(target) ? text : await withoutSecrets(context, target, payload, lab);
  // A sent text without the lab's secrets counts as changed only if its public part changes.
  const { yaml, files } = target.sent ? shown : text;
  const changed = intent === undefined || yaml !== intent.yaml || JSON.stringify(files) !== JSON.stringify(intent.files);

  const now = await readSent(context, text.yaml, text.files);
  const nowIds = joinIds(now.lab, observed, ids);
  const serial = (record?.serial ?? 0) + (job === undefined ? 0 : 1);
  if (job !== undefined && record !== undefined) {
    const after: LabRecord = {
      ...(context.store.labs.get(path) ?? record),
      yaml: text.yaml,
      files: text.files,
      ids: nowIds,
      labId: observed.id,
      applied: snapshot(observed),
      serial,
      plans: {},
      updatedAt: context.clock.now(),
    };
    await context.store.labs.put(after);
    await recordHistory(context, after, now.lab, { user: target.caller.user, operation: "reconcileProject", job: job.id }, record);
  }
  const manifest = printManifest({
    version: 1,
    mode: target.mode,
    lab: path,
    intent: `${now.lab.name}.clab.yml`,
    files: Object.keys(text.files).sort(),
    host: { kind: context.host.kind, url: context.host.url },
  });
  return {
    lab: path,
    applied: 0,
    applicable: true,
    direction: "from_host",
    status: changed ? "applied" : "unchanged",
    operations: [],
    blocked: [],
    yaml: shown.yaml,
    files: shown.files,
    state: projectState(context.host, serial, observed, nowIds),
    ...(mayReadSecrets(target) ? withSource(record?.source) : sourceOf(target, true)),
    manifest,
  };
}

/**
 * The caller's own text keeps its comments and its own secrets. From the recorded text, which another user may have written, only the redacted lab
 * is returned.
 */
async function withoutSecrets(context: WorkPart, { intent }: Target, payload: ProjectPayload, lab: Lab): Promise<IntentText> {
  const masked = maskLab(lab);
  if (payload.yaml === undefined || intent === undefined) return printLab(masked);
  return await context.work.edit(intent.yaml, intent.files, unmaskLab(masked, intent.lab).lab);
}
