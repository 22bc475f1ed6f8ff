import type { Operation, Plan } from "../model/plan.ts";

/**
 * Splits a plan into steps that do not stop nodes and steps that need a confirmation. Both keep their order. Each step has the disruption of its
 * whole group (propagate.ts), so `now` never contains part of a group.
 */
export function splitByDisruption(plan: Pick<Plan, "operations">): {
  readonly now: readonly Operation[];
  readonly later: readonly Operation[];
} {
  const now: Operation[] = [];
  const later: Operation[] = [];
  for (const operation of plan.operations) {
    (operation.disruption === "none" || operation.disruption === "link" ? now : later).push(operation);
  }
  return { now, later };
}
