import type { PlanData } from "../../contract/schemas/plan.ts";

/** Counts the differences: changes that the intent needs, and parts that only the host has. Unsupported parts are not counted. */
export function differences({ actions = [], summary }: PlanData): number {
  return actions.length + (summary?.skipped_prune ?? 0);
}
