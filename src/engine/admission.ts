import type { Lab } from "../intent/lab.ts";
import { type JoinedIds, joinIds } from "./join.ts";
import type { ObservedLab } from "./observed.ts";
import type { Action, HostRules, Plan, TemplateRules } from "./plan.ts";
import { planText } from "./text.ts";

export interface Admitted {
  readonly desired: Lab;
  readonly observed: ObservedLab | null;
  readonly rules: HostRules;
  /** As recorded. */
  readonly ids: JoinedIds | undefined;
}

/**
 * Blocks a plan whose nodes need more memory than the host has left: those that start, and those that run and get more. What a node that is stopped
 * and started again had before is free by then. A host that does not tell what it has left is not asked.
 */
export function admit(plan: Plan, { desired, observed, rules, ids }: Admitted): Plan {
  if (rules.freeMemory === undefined) return plan;
  const [stops, starts] = [stepsOf(plan, "stop"), stepsOf(plan, "start")];
  if (starts.size === 0 && !plan.actions.some(({ changes }) => changes.some(({ field }) => field === "ram"))) return plan;
  const templates = new Map(rules.templates.map((template) => [template.id, template]));
  const joined = joinIds(desired, observed, ids);
  const before = new Map((observed?.nodes ?? []).map((node) => [node.id, node]));
  let needs = 0;
  let grows = false;
  const affects: string[] = [];
  for (const node of desired.nodes) {
    const then = before.get(joined.nodes[node.key] ?? "");
    const had = then === undefined || then.power === "stopped" ? 0 : needOf(then, templates);
    const starting = starts.has(node.key);
    // One that is only stopped frees what it had, but perhaps not before the others start.
    if (!starting && (had === 0 || stops.has(node.key))) continue;
    const runs = !starting || stops.has(node.key);
    const more = needOf(node, templates) - (runs ? had : 0);
    // What one that runs on gives back is not free before the others start, either.
    needs += starting ? more : Math.max(0, more);
    if (more <= 0) continue;
    affects.push(node.key);
    grows ||= runs;
  }
  if (needs <= rules.freeMemory) return plan;
  const action: Action = {
    id: "admit:lab",
    op: "start",
    kind: "lab",
    key: desired.name,
    reason: { code: "no_memory", text: shortage(needs, rules.freeMemory, grows) },
    disruption: "none",
    affects: affects.sort(),
    changes: [],
    prune: false,
  };
  const blocked = [...plan.blocked, action];
  return {
    ...plan,
    blocked,
    applicable: false,
    text: planText({ ...plan, blocked, name: desired.name, locked: observed?.locked ?? false }),
  };
}

function stepsOf(plan: Plan, kind: "stop" | "start"): ReadonlySet<string> {
  return new Set(plan.operations.flatMap(({ step }) => (step.do === kind ? [step.node] : [])));
}

/** MiB. */
function needOf(node: { readonly ram?: number; readonly template: string }, templates: ReadonlyMap<string, TemplateRules>): number {
  return node.ram ?? templates.get(node.template)?.need ?? 0;
}

/**
 * @param needs, free MiB
 * @param grows some of it is for nodes that have memory already
 */
export function shortage(needs: number, free: number, grows = false): string {
  const who = grows ? "start or get more memory need" : "start need";
  return `the nodes that would ${who} ${memoryText(needs)}${grows ? " more" : " of memory"}, ${memoryText(free)} are free`;
}

/** "6.2 GiB", "300 MiB". */
export function memoryText(mebibytes: number): string {
  return mebibytes < 1024 ? `${Math.round(mebibytes)} MiB` : `${(mebibytes / 1024).toFixed(1)} GiB`;
}
