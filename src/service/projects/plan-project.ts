import { Failure } from "../../contract/errors.ts";
import type { PlanData } from "../../contract/schemas/plan.ts";
import type { ProjectPayload } from "../../contract/schemas/project.ts";
import { changedStoredParts, type StoredPart } from "../../engine/compare/stored-parts.ts";
import type { Action, Operation, PlanSummary } from "../../engine/model/plan.ts";
import { maskAction } from "../../engine/show/mask.ts";
import { maskText } from "../../engine/show/secret-words.ts";
import { planText } from "../../engine/show/text.ts";
import type { Diagnostic } from "../../intent/diagnostics/diagnostic.ts";
import type { Lab } from "../../intent/lab/lab.ts";
import { imageFetches, imageFetchText } from "../changes/fetch-images.ts";
import { type Planned, type PlanOptions, planAgainstHost, type Wanted } from "../changes/planned.ts";
import { shownOperations, withBoundedTexts } from "../changes/shown-changes.ts";
import { spreadData, spreadText } from "../changes/spread.ts";
import { configProblems, nodesWithConfigs } from "../checks/config-problems.ts";
import { checkOnHost } from "../checks/host-check.ts";
import { bindProblems, countNewNodes, newNodeProblems, portProblems, startingNodes } from "../checks/host-room.ts";
import { kernelProblems } from "../checks/kernel-needs.ts";
import { quotaProblems } from "../checks/quota-problems.ts";
import { needProblems } from "../checks/template-needs.ts";
import type { Call, Caller } from "../common/call.ts";
import { labNotFound } from "../common/refusals.ts";
import { addressProject, neededIntent } from "../context/address.ts";
import { mayReadSecrets, originOf } from "../context/allow.ts";
import { movedText, movedTo } from "../context/moved.ts";
import type { ClockPart, LookupParts, PlansPart, StorePart, WorkPart } from "../context/parts.ts";
import { refuseQuarantined } from "../context/quarantine.ts";
import type { Target } from "../context/target.ts";
import { unquoted } from "../context/unquoted.ts";
import { ownPlacement, placementText } from "../placement/own-machine.ts";
import { includes, rightOn } from "../sessions/rights.ts";
import type { Direction } from "../store/store.ts";
import { recordedIntent } from "../work/intents.ts";
import { capturedIntent } from "./captured-intent.ts";
import { reversed, withUnmanaged } from "./from-host-plan.ts";

/** Throws invalid_direction. */
export function directionOf(value: string | undefined): Direction {
  if (value === undefined || value === "" || value === "to_host") return "to_host";
  if (value === "from_host") return "from_host";
  throw new Failure("invalid_direction", `direction must be to_host or from_host, not ${JSON.stringify(value)}`);
}

/** Plans a change without applying it. The plan's identity becomes the newest of its direction, unless the caller only peeks. */
export async function planProject(
  context: LookupParts & PlansPart & ClockPart,
  caller: Caller,
  payload: ProjectPayload,
  { signal }: Call,
): Promise<PlanData> {
  const direction = directionOf(payload.direction);
  const toHost = direction === "to_host";
  const { target, wanted } = await addressPlan(context, caller, payload, direction);
  if (toHost) {
    const intent = await neededIntent(target);
    const check = () => checkOnHost(context, target.host, intent, { signal });
    await (target.sent ? check() : unquoted(target, check));
  }
  const options: PlanOptions = {
    direction,
    prune: payload.prune === true,
    replace: payload.replace === true,
    allowUnsupported: toHost && payload.allow_unsupported === true,
    explain: toHost,
    masked: !mayReadSecrets(target),
  };
  const planned = await planAgainstHost(context, target, wanted, options);
  const { observed, identity } = planned;
  if (observed === null && !toHost) throw labNotFound(target.path);
  const given = payload.plan_identity;
  if (given !== undefined && (given !== newestPlan(context, target, direction) || given !== identity)) throw planStale();
  const peek = payload.peek === true;
  if (!peek) await remember(context, target, direction, identity);
  const facts = {
    lab: target.path,
    ...ownPlacement(),
    exists: observed !== null,
    ...(!peek && { plan_identity: identity }),
    locked: observed?.locked ?? false,
    lock: observed?.lock ?? 0,
    direction,
    ...originOf(target),
  };
  if (toHost) {
    const intent = await neededIntent(target);
    const { operations } = planned.plan;
    const [plan, ...found] = await Promise.all([
      toHostPlan(context, target, wanted, planned),
      newNodeProblems(context, target.host, intent, target.path, countNewNodes(operations)),
      configProblems(context, target.host, intent, nodesWithConfigs(operations)),
      kernelProblems(context, target.host, intent, changedNodes(operations)),
      needProblems(context, target.host, intent, changedNodes(operations)),
      portProblems(context, target.host, intent, target.path, startingNodes(operations)),
      bindProblems(context, target.host, intent, target.path, startingNodes(operations)),
      quotaProblems(context, target, intent, planned, payload.replace === true),
    ]);
    const fetches = await imageFetches(target.host, operations, { intent: intent.lab, observed, ids: planned.ids });
    const spread = await target.host.spread?.facts(target.path, intent.lab.place, operations, planned.ids);
    const stored = await storedChanges(context, target, intent.lab);
    const warnings = mayReadSecrets(target) ? found.flat() : found.flat().map(withoutSecrets);
    return {
      ...facts,
      ...plan,
      ...fetches,
      ...(spread !== undefined && { spread: spreadData(spread) }),
      text: `${plan.text}${placementText()}${spreadText(spread)}${imageFetchText(fetches)}${storedText(stored)}${warnings.length === 0 ? "" : warningsText(warnings)}`,
      ...(warnings.length > 0 && { warnings: [...warnings] }),
      ...(stored.length > 0 && { stored: [...stored] }),
    };
  }
  const pruned = await planAgainstHost(context, target, wanted, { ...options, prune: true, explain: true });
  return { ...facts, ...(await fromHostPlan(context, target, wanted, planned, pruned)) };
}

/** Only for callers who may read secrets: the answer reveals whether a guessed condition is the recorded one. */
async function storedChanges(context: WorkPart, target: Target, lab: Lab): Promise<readonly StoredPart[]> {
  if (!target.sent || !mayReadSecrets(target)) return [];
  const recorded = await recordedIntent(context, target.record);
  return recorded === undefined ? [] : changedStoredParts(recorded.lab, lab);
}

function storedText(parts: readonly StoredPart[]): string {
  if (parts.length === 0) return "";
  const hasPlace = parts.includes("place");
  // The place alone has no effect on the lab that exists.
  const then = hasPlace && parts.length === 1 ? "" : ", and then it takes effect";
  const place = hasPlace ? "; the place counts when the lab is created again" : "";
  return `\nAlso changed, and kept by the service: ${parts.join(", ")}. Apply stores it${then}${place}.\n`;
}

/** Returns the keys of the nodes that the steps make or change. */
function changedNodes(operations: readonly Operation[]): ReadonlySet<string> {
  return new Set(operations.flatMap(({ step }) => (step.do === "create-node" || step.do === "update-node" ? [step.node.key] : [])));
}

/** A warning may quote a line of a configuration. */
function withoutSecrets(warning: Diagnostic): Diagnostic {
  const { message, hint } = warning;
  return { ...warning, message: maskText(message), ...(hint !== undefined && { hint: maskText(hint) }) };
}

function warningsText(warnings: readonly Diagnostic[]): string {
  const lines = warnings.map(({ file, line, message, hint }) => {
    const place = file === undefined ? `line ${line}` : `${file}:${line}`;
    return `  ! ${place}: ${message}${hint === undefined ? "" : `; ${hint}`}`;
  });
  return ["", "Warnings:", ...lines, ""].join("\n");
}

/**
 * Finds the project of a plan, and the lab that is planned. Any user who sees a lab may plan it. Throws as addressProject and neededIntent, and
 * operation_not_allowed for a lab in quarantine.
 */
async function addressPlan(
  context: LookupParts,
  caller: Caller,
  payload: ProjectPayload,
  direction: Direction,
): Promise<{ readonly target: Target; readonly wanted: Wanted }> {
  const target = await addressProject(context, caller, payload, { makes: direction === "to_host" ? "planned" : undefined });
  await refuseQuarantined(context, target);
  return { target, wanted: await plannable(target, direction) };
}

/** The part of a plan's answer that depends on its direction. */
type PlanPart = Omit<PlanData, "lab" | "exists" | "plan_identity" | "locked" | "lock" | "direction" | "origin">;

/** The changes of the host. */
async function toHostPlan(context: StorePart, target: Target, { lab }: Wanted, { plan: whole, observed }: Planned): Promise<PlanPart> {
  const moved = observed === null ? await movedTo(context, target) : undefined;
  const shown = shownFor(target);
  const plan = { ...whole, actions: shown(whole.actions), operations: shown(whole.operations), blocked: shown(whole.blocked) };
  const text = mayReadSecrets(target) ? plan.text : planText({ ...plan, name: lab.name, locked: observed?.locked ?? false });
  return {
    summary: plan.summary,
    operations: [...shownOperations(plan.operations)],
    actions: [...withBoundedTexts(plan.actions)],
    applicable: plan.applicable && moved === undefined,
    blocked: [...withBoundedTexts(plan.blocked)],
    unsupported: plan.unsupported,
    text: moved === undefined ? text : `${movedText(target.path, moved)}\n${text}`,
    ...(moved !== undefined && { moved_to: moved }),
  };
}

/**
 * The changes of the intent.
 * @param pruned the plan that also deletes what the intent does not have: read backwards, it changes the intent to match the host
 */
async function fromHostPlan(
  context: WorkPart,
  target: Target,
  { lab }: Wanted,
  { plan, observed }: Planned,
  pruned: Planned,
): Promise<PlanPart> {
  const known =
    target.intent === undefined || observed === null ? undefined : await capturedIntent(context, target, observed, pruned.rules);
  const differs = reversed(pruned.plan.actions);
  const actions = shownFor(target)(known === undefined ? differs : withUnmanaged(differs, lab, known));
  const counted = (op: Action["op"]) => actions.filter((action) => action.op === op).length;
  const summary: PlanSummary = {
    ...plan.summary,
    creates: counted("create"),
    updates: counted("update"),
    deletes: counted("delete"),
    replaces: 0,
    stops: 0,
    starts: 0,
    skipped_prune: 0,
    unsupported: 0,
  };
  const reversal = { name: lab.name, actions, blocked: [], unsupported: [], summary, locked: false };
  return {
    summary,
    operations: [],
    actions: [...withBoundedTexts(actions)],
    applicable: true,
    blocked: [],
    unsupported: [],
    text: planText(reversal).replace(/^Labwright will make .*:$/m, `The intent of ${reversal.name} will change to match the host:`),
  };
}

/** A plan shows the host's definition: secrets are redacted as in getPublicProject for users who may not edit. */
function shownFor(target: Target): <A extends Pick<Action, "changes">>(actions: readonly A[]) => readonly A[] {
  return mayReadSecrets(target) ? (actions) => actions : (actions) => actions.map(maskAction);
}

/** Returns the wanted lab of a plan. from_host of a lab without an intent compares with nothing. */
export async function plannable(target: Target, direction: Direction): Promise<Wanted> {
  if (direction === "to_host" || target.intent !== undefined) return neededIntent(target);
  return { lab: { name: target.path.split("/").at(-1)!, nodes: [], networks: [], links: [], trafficFilters: [], texts: [] } };
}

export function planStale(): Failure {
  return new Failure(
    "plan_stale",
    "the plan identity is not the one of the last plan of this direction, or the lab has changed since then; plan again",
  );
}

async function remember(context: StorePart & PlansPart, target: Target, direction: Direction, identity: string): Promise<void> {
  // A caller who may not apply a plan must not make the plans of other users stale.
  const right = target.record && rightOn(target.record, target.caller);
  if (right !== undefined && includes(right, "edit")) await context.store.labs.putPlan(target.path, direction, identity);
  else context.unrecordedPlans.set(unrecordedKey(target, direction), identity);
}

/** Returns the identity of the newest plan of this direction. */
export function newestPlan(context: StorePart & PlansPart, target: Target, direction: Direction): string | undefined {
  const right = target.record && rightOn(target.record, target.caller);
  if (right === undefined || !includes(right, "edit")) return context.unrecordedPlans.get(unrecordedKey(target, direction));
  return context.store.labs.get(target.path)?.plans[direction];
}

function unrecordedKey({ caller, path }: Target, direction: Direction): string {
  return `${direction} ${caller.user} ${path}`;
}
