import type { ResultOf } from "../../client/index.ts";
import { type Paint, paintChanges } from "./terminal.ts";

export type Plan = ResultOf<"planProject">;

/** Returns whether the plan contains changes of the host. */
export function hasChanges(plan: Plan): boolean {
  return (plan.operations?.length ?? 0) > 0 || (plan.actions?.length ?? 0) > 0;
}

/** Returns a note about items on the host that are not in the file, and that stay without --prune; "" if there are none. */
export function extrasText(count: number | undefined): string {
  return count === undefined || count === 0
    ? ""
    : `; ${count} more on the host than in the file (--prune deletes ${count === 1 ? "it" : "them"})`;
}

/** Returns the text of a plan without changes of the host. @param isDone the changed text has been stored */
export function unchangedText(plan: Plan, isDone: boolean): string {
  const extras = extrasText(plan.summary?.skipped_prune);
  const stored = plan.stored ?? [];
  if (stored.length === 0) return `no changes${extras}`;
  const names = stored.join(", ");
  const hasPlace = stored.includes("place");
  const applied = stored.length === 1 ? "apply stores it, and then it takes effect" : "apply stores them, and then they take effect";
  const place = hasPlace ? "; the place counts when the lab is created again" : "";
  // The place alone has no effect on the lab that exists.
  const then = hasPlace && stored.length === 1 ? "apply stores it" : applied;
  return `no changes of the host${extras}; ${isDone ? `stored the changed ${names}` : `the text changes ${names}: ${then}`}${place}`;
}

/** Returns whether the plan stops a running node. */
export function stopsNodes(plan: Plan): boolean {
  return (plan.operations ?? []).some(({ disruption }) => disruption === "restart" || disruption === "stop" || disruption === "recreate");
}

export const allowHint = "--allow-unsupported applies the rest and leaves out what the host does not support";

/** Returns whether unsupported fields are the only problem that blocks the plan. */
export function isLeftUndone(plan: Plan): boolean {
  return plan.applicable === false && (plan.blocked ?? []).length === 0 && plan.locked !== true && (plan.unsupported ?? []).length > 0;
}

/** Returns the plan as text: the service's own text, and the problems if it cannot be applied. */
export function showPlan(paint: Paint, plan: Plan): string {
  const lines = [paintChanges(paint, (plan.text ?? "").trimEnd())];
  // The service's text contains the problems.
  if (plan.applicable === false && hasChanges(plan))
    lines.push(paint("red", `This plan cannot be applied.${isLeftUndone(plan) ? ` ${allowHint}.` : ""}`));
  return lines.filter((line) => line !== "").join("\n");
}

/** Returns the problems that block the plan, one line each. */
export function obstacles(plan: Plan): readonly string[] {
  const lines = (plan.blocked ?? []).map(
    ({ kind, key, line, reason }) => `blocked: ${kind} ${key}${line === undefined ? "" : ` (line ${line})`}: ${reason.text}`,
  );
  lines.push(...(plan.unsupported ?? []).map((text) => `unsupported: ${text}`));
  if (plan.locked === true) lines.push("locked: the lab is locked on the host; labwright unlock clears the lock");
  return lines;
}
