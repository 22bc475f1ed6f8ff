import { createHash } from "node:crypto";
import { type JoinedIds, joinIds } from "../../engine/compare/join.ts";
import { markOrigins, originWords } from "../../engine/compare/origin.ts";
import type { ObservedLab } from "../../engine/model/observed.ts";
import type { Action, Plan } from "../../engine/model/plan.ts";
import { identityText } from "../../engine/plan/identity.ts";
import { type PlanInput, planLab } from "../../engine/plan/plan-lab.ts";
import { digestText } from "../../engine/shared/canonical.ts";
import { maskLab, maskObserved } from "../../engine/show/mask.ts";
import { planText } from "../../engine/show/text.ts";
import { sourceLines } from "../../intent/places/source-lines.ts";
import type { Direction } from "../store/store.ts";

/** The complete input of a plan, as plain data. */
export interface PlanWork {
  readonly input: Omit<PlanInput, "ids">;
  /** The recorded native ids. Other objects are joined by name. */
  readonly ids: JoinedIds;
  readonly direction: Direction;
  /** Every file that was sent. */
  readonly files: Readonly<Record<string, string>>;
  /** The intent's text, if actions need its line numbers. */
  readonly yaml?: string;
  /** Present: adds line numbers of the intent and the origin of each difference. */
  readonly explain?: Explanation;
  /** Compares the labs without their secrets. The plan and its identity do not depend on any secret. */
  readonly masked?: true;
}

export interface Explanation {
  /** The host's definition and ids after the last apply. */
  readonly base?: ObservedLab;
  readonly baseIds: JoinedIds;
}

export interface ComputedPlan {
  readonly plan: Plan;
  readonly ids: JoinedIds;
  /** Opaque, direction-scoped. */
  readonly identity: string;
}

/** Computes the plan, its identity and its explanation. Pure: the same input returns the same plan in any thread. */
export function computePlan(work: PlanWork): ComputedPlan {
  const { input: given, ids: known, direction, files, yaml, explain, masked } = work.masked === true ? withoutSecrets(work) : work;
  // Joined first, so that calls with and without state get the same identity.
  const ids = joinIds(given.desired, given.observed, known);
  const input: PlanInput = { ...given, ids };
  const plan = planLab(input);
  const bound = `${identityText(input, direction, plan)}\n${masked === true ? "masked" : digestText(files)}`;
  const identity = createHash("sha256").update(bound).digest("hex");
  if (explain === undefined) return { plan, ids, identity };
  return { plan: explained(plan, input, ids, { ...explain, files, ...(yaml !== undefined && { yaml }) }), ids, identity };
}

/** Removes the secrets from both labs. The files keep theirs: the plan takes only line numbers from them, never text. */
function withoutSecrets(work: PlanWork): PlanWork {
  const { desired, observed } = work.input;
  const input = { ...work.input, desired: desired && maskLab(desired), observed: observed && maskObserved(observed) };
  const { explain } = work;
  if (explain?.base === undefined) return { ...work, input };
  return { ...work, input, explain: { ...explain, base: maskObserved(explain.base) } };
}

/** Adds the line in the intent and the origin of the difference to each action of the plan. */
function explained(
  plan: Plan,
  { desired, observed, rules }: PlanInput,
  ids: JoinedIds,
  { base, baseIds, yaml, files }: Pick<Explanation, "base" | "baseIds"> & Pick<PlanWork, "yaml" | "files">,
): Plan {
  if (desired === null || (plan.actions.length === 0 && plan.blocked.length === 0)) return plan;
  // A new lab at the same path is unrelated to the applied lab.
  const marked =
    base === undefined || observed === null || base.id !== observed.id
      ? plan.actions
      : markOrigins({ actions: plan.actions, base, observed, desired, ids, baseIds, rules });
  const lineOf = yaml === undefined ? () => undefined : linesOf(yaml, files);
  const withLine = (action: Action): Action => {
    const line = lineOf(action);
    return line === undefined ? action : { ...action, line };
  };
  const actions = marked.map(withReason).map(withLine);
  const blocked = plan.blocked.map(withLine);
  const locked = observed?.locked ?? false;
  return { ...plan, actions, blocked, text: planText({ ...plan, actions, blocked, name: desired.name, locked }) };
}

/** Generic reasons of a difference, replaced by its origin. */
const general = new Set(["differs", "not_on_host", "not_in_intent"]);

function withReason(action: Action): Action {
  const { origin, reason } = action;
  if (origin === undefined || !general.has(reason.code)) return action;
  const { code, text } = originWords[origin];
  return { ...action, reason: { code, text: origin === "intent" ? reason.text : `${reason.text}: ${text}` } };
}

function linesOf(yaml: string, files: Readonly<Record<string, string>>): (action: Action) => number | undefined {
  const { nodes, networks, links } = sourceLines(yaml, files);
  const byKind: Readonly<Partial<Record<Action["kind"], ReadonlyMap<string, number>>>> = {
    node: nodes,
    config: nodes,
    network: networks,
    link: links,
  };
  return ({ kind, key }) => byKind[kind]?.get(key);
}
