import type { Operation, Plan } from "../model/plan.ts";

/**
 * What may run on live nodes without asking, and what must wait for a confirmation. Both keep their order. Every operation already
 * carries the disruption of all that must go with it (settle.ts), so `now` never holds half of something.
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
