import { Failure } from "../../contract/errors.ts";
import type { PlanData } from "../../contract/schemas/plan.ts";
import type { ProjectPayload } from "../../contract/schemas/project.ts";
import type { Action, PlanSummary } from "../../engine/model/plan.ts";
import { maskAction } from "../../engine/show/mask.ts";
import { planText } from "../../engine/show/text.ts";
import { planAgainstHost, shownOperation, type Wanted } from "../changes/planned.ts";
import { checkOnHost } from "../checks/host-check.ts";
import type { Call, Caller } from "../common/call.ts";
import { labNotFound } from "../common/refusals.ts";
import { addressProject, mayReadSecrets, neededIntent, originOf, type Target } from "../context/address.ts";
import type { Context } from "../context/context.ts";
import { movedText, movedTo } from "../context/moved.ts";
import { refuseQuarantined } from "../context/quarantine.ts";
import { unquoted } from "../context/unquoted.ts";
import { includes, rightOn } from "../sessions/rights.ts";
import type { Direction } from "../store/store.ts";
import { capturedIntent } from "./captured-intent.ts";
import { reversed, withUnmanaged } from "./from-host-plan.ts";

/** Throws invalid_direction. */
export function directionOf(value: string | undefined): Direction {
  if (value === undefined || value === "" || value === "to_host") return "to_host";
  if (value === "from_host") return "from_host";
  throw new Failure("invalid_direction", `direction must be to_host or from_host, not ${JSON.stringify(value)}`);
}

/** Plans a change without applying it. The plan's identity becomes the newest of its direction, unless the caller only peeks. */
export async function planProject(context: Context, caller: Caller, payload: ProjectPayload, { signal }: Call): Promise<PlanData> {
  const direction = directionOf(payload.direction);
  const toHost = direction === "to_host";
  const target = await addressProject(context, caller, payload, { makes: toHost });
  await refuseQuarantined(context, target);
  const options = {
    direction,
    prune: payload.prune === true,
    replace: payload.replace === true,
    allowUnsupported: toHost && payload.allow_unsupported === true,
    explain: toHost,
  };
  const intent = await plannable(target, direction);
  if (toHost) {
    const wanted = await neededIntent(target);
    const check = () => checkOnHost(context, target.host, wanted, { signal });
    await (target.sent ? check() : unquoted(target, check));
  }
  const { plan: whole, observed, identity } = await planAgainstHost(context, target, intent, options);
  // A plan shows the host's definition: secrets are redacted as in getPublicProject for users who may not edit.
  const open = mayReadSecrets(target);
  const shown = <A extends Pick<Action, "changes">>(actions: readonly A[]) => (open ? actions : actions.map(maskAction));
  const plan = { ...whole, actions: shown(whole.actions), operations: shown(whole.operations), blocked: shown(whole.blocked) };
  if (observed === null && direction === "from_host") throw labNotFound(target.path);
  const given = payload.plan_identity;
  if (given !== undefined && (given !== newestPlan(context, target, direction) || given !== identity)) throw planStale();
  const peek = payload.peek === true;
  if (!peek) remember(context, target, direction, identity);

  const facts = {
    lab: target.path,
    exists: observed !== null,
    ...(!peek && { plan_identity: identity }),
    locked: observed?.locked ?? false,
    lock: observed?.lock ?? 0,
    direction,
    ...originOf(target),
  };
  if (direction === "from_host") {
    const pruned = await planAgainstHost(context, target, intent, { ...options, prune: true, explain: true });
    const known =
      target.intent === undefined || observed === null ? undefined : await capturedIntent(context, target, observed, pruned.rules);
    const differs = reversed(pruned.plan.actions);
    const actions = shown(known === undefined ? differs : withUnmanaged(differs, intent.lab, known));
    const summary: PlanSummary = {
      ...plan.summary,
      creates: actions.filter(({ op }) => op === "create").length,
      updates: actions.filter(({ op }) => op === "update").length,
      deletes: actions.filter(({ op }) => op === "delete").length,
      replaces: 0,
      stops: 0,
      starts: 0,
      skipped_prune: 0,
      unsupported: 0,
    };
    const reversal = { name: intent.lab.name, actions, blocked: [], unsupported: [], summary, locked: false };
    return {
      ...facts,
      summary,
      operations: [],
      actions,
      applicable: true,
      blocked: [],
      unsupported: [],
      text: planText(reversal).replace(/^Labwright will make .*:$/m, `The intent of ${reversal.name} will change to match the host:`),
    };
  }
  const moved = observed === null ? await movedTo(context, target) : undefined;
  const text = open ? plan.text : planText({ ...plan, name: intent.lab.name, locked: facts.locked });
  return {
    ...facts,
    summary: plan.summary,
    operations: plan.operations.map(shownOperation),
    actions: plan.actions,
    applicable: plan.applicable && moved === undefined,
    blocked: plan.blocked,
    unsupported: plan.unsupported,
    text: moved === undefined ? text : `${movedText(target.path, moved)}\n${text}`,
    ...(moved !== undefined && { moved_to: moved }),
  };
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

function remember(context: Context, target: Target, direction: Direction, identity: string): void {
  // A caller who may not apply a plan must not make the plans of other users stale.
  const right = target.record && rightOn(target.record, target.caller);
  if (right !== undefined && includes(right, "edit")) context.store.labs.putPlan(target.path, direction, identity);
  else context.unrecordedPlans.set(unrecordedKey(target, direction), identity);
}

/** Returns the identity of the newest plan of this direction. */
export function newestPlan(context: Context, target: Target, direction: Direction): string | undefined {
  const right = target.record && rightOn(target.record, target.caller);
  if (right === undefined || !includes(right, "edit")) return context.unrecordedPlans.get(unrecordedKey(target, direction));
  return context.store.labs.get(target.path)?.plans[direction];
}

function unrecordedKey({ caller, path }: Target, direction: Direction): string {
  return `${direction} ${caller.user} ${path}`;
}
