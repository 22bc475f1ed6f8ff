import type { Lab } from "../intent/lab.ts";
import type { Action, HostRules, Plan } from "./plan.ts";
import { planText } from "./text.ts";

/**
 * Blocks a plan whose starts need more memory than the host has left. Nodes that are stopped and started again have theirs already.
 * A host that does not tell what it has left is not asked.
 */
export function admit(plan: Plan, desired: Lab, rules: HostRules, locked: boolean): Plan {
  if (rules.freeMemory === undefined) return plan;
  const templates = new Map(rules.templates.map((template) => [template.id, template]));
  const nodes = new Map(desired.nodes.map((node) => [node.key, node]));
  const had = new Set(plan.operations.flatMap(({ step }) => (step.do === "stop" ? [step.node] : [])));
  const starting = plan.operations.flatMap(({ step }) => (step.do === "start" && !had.has(step.node) ? [step.node] : []));
  let needs = 0;
  for (const key of starting) {
    const node = nodes.get(key);
    const template = templates.get(node?.template ?? "");
    needs += node?.ram ?? template?.need ?? 0;
  }
  if (needs <= rules.freeMemory) return plan;
  const action: Action = {
    id: "admit:lab",
    op: "start",
    kind: "lab",
    key: desired.name,
    reason: { code: "no_memory", text: shortage(needs, rules.freeMemory) },
    disruption: "none",
    affects: [...starting].sort(),
    changes: [],
    prune: false,
  };
  const blocked = [...plan.blocked, action];
  return { ...plan, blocked, applicable: false, text: planText({ ...plan, blocked, name: desired.name, locked }) };
}

/** @param needs, free MiB */
export function shortage(needs: number, free: number): string {
  return `the nodes that would start need ${memoryText(needs)} of memory, ${memoryText(free)} are free`;
}

/** "6.2 GiB", "300 MiB". */
export function memoryText(mebibytes: number): string {
  return mebibytes < 1024 ? `${Math.round(mebibytes)} MiB` : `${(mebibytes / 1024).toFixed(1)} GiB`;
}
