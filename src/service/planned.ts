import { createHash } from "node:crypto";
import type { PlanAction } from "../contract/schemas/plan.ts";
import { canonicalText } from "../engine/canonical.ts";
import { identityText } from "../engine/identity.ts";
import { joinIds } from "../engine/join.ts";
import type { ObservedLab } from "../engine/observed.ts";
import { markOrigins, originWords } from "../engine/origin.ts";
import type { Action, HostRules, Operation, Plan } from "../engine/plan.ts";
import { type PlanInput, planLab } from "../engine/plan-lab.ts";
import { planText } from "../engine/text.ts";
import type { NativeIds } from "../hosts/host.ts";
import type { Lab } from "../intent/lab.ts";
import { sourceLines } from "../intent/source-lines.ts";
import type { Target } from "./address.ts";
import type { Direction } from "./store/store.ts";

/** A plan with what it rests on. */
export interface Planned {
  readonly plan: Plan;
  readonly observed: ObservedLab | null;
  readonly rules: HostRules;
  readonly ids: NativeIds;
  /** Opaque, direction-scoped. */
  readonly identity: string;
}

export interface PlanOptions {
  readonly direction: Direction;
  readonly prune: boolean;
  readonly replace: boolean;
  readonly wipe?: boolean;
  /** Also tell where the intent says so, and who made the difference: for plans that people read. */
  readonly explain?: boolean;
}

/** What is wanted: a lab, with its text where it came from one. */
export interface Wanted {
  readonly lab: Lab;
  readonly yaml?: string;
  readonly files?: Readonly<Record<string, string>>;
}

/** Observes the lab and plans. `wanted` null plans its end. Writes nothing. */
export async function planAgainstHost(
  target: Pick<Target, "host" | "path" | "ids" | "record">,
  wanted: Wanted | null,
  options: PlanOptions,
): Promise<Planned> {
  const [rules, observed] = await Promise.all([target.host.rules(), target.host.observe(target.path)]);
  const desired = wanted?.lab ?? null;
  // Joined first, so that a call with state and one without it give the same identity.
  const ids = joinIds(desired, observed, target.ids);
  const { direction, prune, replace, wipe } = options;
  const input: PlanInput = { desired, observed, rules, ids, prune, replace, ...(wipe !== undefined && { wipe }) };
  const plan = planLab(input);
  const bound = `${identityText(input, direction, plan)}\n${canonicalText(wanted?.files ?? {})}`;
  const identity = createHash("sha256").update(bound).digest("hex");
  const told = options.explain === true ? explained(plan, target, wanted, { observed, rules, ids }) : plan;
  return { plan: told, observed, rules, ids, identity };
}

/** The same plan; its actions tell also where the intent says so, and who made the difference. */
function explained(
  plan: Plan,
  { record, ids: known }: Pick<Target, "ids" | "record">,
  wanted: Wanted | null,
  { observed, rules, ids }: Pick<Planned, "observed" | "rules" | "ids">,
): Plan {
  if (wanted === null || (plan.actions.length === 0 && plan.blocked.length === 0)) return plan;
  const base = record?.applied;
  // Another lab at the same path has nothing to do with the one that was applied.
  const marked =
    base === undefined || observed === null || base.id !== observed.id
      ? plan.actions
      : markOrigins({ actions: plan.actions, base, observed, desired: wanted.lab, ids, baseIds: record?.ids ?? known, rules });
  const lineOf = wanted.yaml === undefined ? () => undefined : linesOf(wanted.yaml, wanted.files ?? {});
  const withLine = (action: Action): Action => {
    const line = lineOf(action);
    return line === undefined ? action : { ...action, line };
  };
  const actions = marked.map(withReason).map(withLine);
  const blocked = plan.blocked.map(withLine);
  const locked = observed?.locked ?? false;
  return { ...plan, actions, blocked, text: planText({ ...plan, actions, blocked, name: wanted.lab.name, locked }) };
}

/** Reasons that only say that there is a difference, which who made it says better. */
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

/** A host step as the wire shows it: without what the host is given. */
export function shownOperation(operation: Operation): PlanAction {
  const { step: _step, ...shown } = operation;
  return shown;
}

/** What is blocked or has no place on the host, as the errors of deploy tell it. */
export function blockedText(blocked: readonly Action[]): string {
  return blocked.map(({ kind, key, reason }) => `${kind} ${key}: ${reason.text}`).join("\n");
}
