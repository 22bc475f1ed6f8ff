import type { ResultOf } from "../../client/index.ts";
import { type Paint, paintChanges } from "./terminal.ts";

export type Plan = ResultOf<"planProject">;

/** Whether anything is left to do on the host. */
export function hasChanges(plan: Plan): boolean {
  return (plan.operations?.length ?? 0) > 0 || (plan.actions?.length ?? 0) > 0;
}

/** What the host has and the file has not, left alone for want of --prune; "" where there is nothing. */
export function extrasText(count: number | undefined): string {
  return count === undefined || count === 0
    ? ""
    : `; ${count} more on the host than in the file (--prune deletes ${count === 1 ? "it" : "them"})`;
}

/** Whether a running node would go down. */
export function stopsNodes(plan: Plan): boolean {
  return (plan.operations ?? []).some(({ disruption }) => disruption === "restart" || disruption === "stop" || disruption === "recreate");
}

export const allowHint = "--allow-unsupported applies the rest and leaves out what the host does not support";

/** Whether nothing but unsupported fields keeps the plan from being applied. */
export function isLeftUndone(plan: Plan): boolean {
  return plan.applicable === false && (plan.blocked ?? []).length === 0 && plan.locked !== true && (plan.unsupported ?? []).length > 0;
}

/** The plan for people: the service's own text, and why it cannot be applied where it cannot. */
export function showPlan(paint: Paint, plan: Plan): string {
  const lines = [paintChanges(paint, (plan.text ?? "").trimEnd())];
  // What stands in the way is in the service's text.
  if (plan.applicable === false && hasChanges(plan))
    lines.push(paint("red", `It cannot be applied as it is.${isLeftUndone(plan) ? ` ${allowHint}.` : ""}`));
  return lines.filter((line) => line !== "").join("\n");
}

/** What stands in the way of applying it, one line each. */
export function obstacles(plan: Plan): readonly string[] {
  const lines = (plan.blocked ?? []).map(
    ({ kind, key, line, reason }) => `blocked: ${kind} ${key}${line === undefined ? "" : ` (line ${line})`}: ${reason.text}`,
  );
  lines.push(...(plan.unsupported ?? []).map((text) => `unsupported: ${text}`));
  if (plan.locked === true) lines.push("locked: the lab is locked on the host; labwright unlock clears the lock");
  return lines;
}
