import type { Comparison, LinkWork, NetworkWork, NodeWork } from "../compare/comparison.ts";
import type { Action, Change, TemplateRules } from "../model/plan.ts";
import type { Reason } from "../model/reasons.ts";
import type { PlanBuilder } from "./plan-builder.ts";

/** State that the planning functions share. */
export interface Planning {
  readonly comparison: Comparison;
  readonly builder: PlanBuilder;
  readonly templates: ReadonlyMap<string, TemplateRules>;
  readonly actions: Map<string, Action>;
  readonly changed: Set<NodeWork | NetworkWork | LinkWork>;
  /** Nodes whose stop and start are planned. */
  readonly powered: Set<NodeWork>;
}

export const onlyInIntent: Reason = { code: "not_on_host", text: "not on the host yet" };
export const onlyOnHost: Reason = { code: "not_in_intent", text: "not in the intent (prune)" };

/** Adds the action, or blocks it, once for each obstacle. Returns whether its steps may be planned. */
export function announce(
  plan: Planning,
  work: NodeWork | NetworkWork | LinkWork | undefined,
  action: Action,
  obstacles: readonly Action["reason"][] = [],
): boolean {
  if (work !== undefined) plan.changed.add(work);
  if (obstacles.length > 0) {
    for (const reason of obstacles) plan.builder.block({ ...action, reason });
    return false;
  }
  plan.actions.set(action.id, action);
  plan.builder.add(action);
  return true;
}

/** Returns the reason of an update: the fields that differ. */
export function differs(changes: readonly Change[]): Action["reason"] {
  const fields = [...new Set(changes.map(({ field }) => field))];
  const text =
    fields.length > 4
      ? `${fields.slice(0, 3).join(", ")} and ${fields.length - 3} more differ`
      : `${fields.join(", ")} ${fields.length === 1 ? "differs" : "differ"}`;
  return { code: "differs", text };
}
