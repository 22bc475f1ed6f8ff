import type { Lab } from "../../intent/lab/lab.ts";
import { type JoinedIds, joinIds } from "../compare/join.ts";
import { affectedNodes } from "../effects/affects.ts";
import type { ObservedLab } from "../model/observed.ts";
import type { Action, HostRules, Plan, TemplateRules } from "../model/plan.ts";
import type { Reason } from "../model/reasons.ts";
import { planText } from "../show/text.ts";

export interface Admitted {
  readonly desired: Lab;
  readonly observed: ObservedLab | null;
  readonly rules: HostRules;
  /** Ids as recorded by the service. */
  readonly ids: JoinedIds | undefined;
}

/** Blocks a plan that exceeds a limit of the host. */
export function admit(plan: Plan, admitted: Admitted): Plan {
  return admitMemory(admitCount(plan, admitted), admitted);
}

/**
 * Blocks a plan if its nodes need more memory than the host has free. Counts nodes that start and running nodes that get more. A node that is stopped
 * and started again frees its earlier memory first. Does nothing if the host does not report free memory.
 */
function admitMemory(plan: Plan, { desired, observed, rules, ids }: Admitted): Plan {
  if (rules.freeMemory === undefined) return plan;
  const [stops, starts] = [stepsOf(plan, "stop"), stepsOf(plan, "start")];
  if (starts.size === 0 && !plan.actions.some(({ changes }) => changes.some(({ field }) => field === "ram"))) return plan;
  const templates = new Map(rules.templates.map((template) => [template.id, template]));
  const joined = joinIds(desired, observed, ids);
  const before = new Map((observed?.nodes ?? []).map((node) => [node.id, node]));
  let needs = 0;
  let grows = false;
  const grown: string[] = [];
  for (const node of desired.nodes) {
    const then = before.get(joined.nodes[node.key] ?? "");
    const had = then === undefined || then.power === "stopped" ? 0 : needOf(then, templates);
    const starting = starts.has(node.key);
    // A node that is only stopped frees its memory, but perhaps after the others start.
    if (!starting && (had === 0 || stops.has(node.key))) continue;
    const runs = !starting || stops.has(node.key);
    const more = needOf(node, templates) - (runs ? had : 0);
    // Memory that a running node gives back is not free before the others start, either.
    needs += starting ? more : Math.max(0, more);
    if (more <= 0) continue;
    grown.push(node.key);
    grows ||= runs;
  }
  if (needs <= rules.freeMemory) return plan;
  const reason: Reason = { code: "no_memory", text: shortage(needs, rules.freeMemory, grows) };
  return refused(plan, { desired, observed }, { id: "admit:lab", op: "start", reason, ...affectedNodes(grown) });
}

/** Blocks a plan that gives a lab more nodes than the host allows. Nodes that only the host has count too, unless the plan deletes them. */
function admitCount(plan: Plan, { desired, observed, rules }: Admitted): Plan {
  const [made, gone] = [stepsOf(plan, "create-node"), stepsOf(plan, "delete-node")];
  if (rules.maxNodes === undefined || made.size === 0) return plan;
  const isNew = observed === null || plan.operations.some(({ step }) => step.do === "delete-lab");
  const count = (isNew ? 0 : observed.nodes.length - gone.size) + made.size;
  if (count <= rules.maxNodes) return plan;
  const text = `the lab would have ${count} nodes, and a lab of this host has at most ${rules.maxNodes}; split it into several labs`;
  return refused(plan, { desired, observed }, { id: "count:lab", op: "create", reason: { code: "too_many_nodes", text }, affects: [] });
}

function refused(
  plan: Plan,
  { desired, observed }: Pick<Admitted, "desired" | "observed">,
  why: Pick<Action, "id" | "op" | "reason" | "affects" | "affected">,
): Plan {
  const action: Action = { ...why, kind: "lab", key: desired.name, disruption: "none", changes: [], prune: false };
  const blocked = [...plan.blocked, action];
  return {
    ...plan,
    blocked,
    applicable: false,
    text: planText({ ...plan, blocked, name: desired.name, locked: observed?.locked ?? false }),
  };
}

function stepsOf(plan: Plan, kind: "stop" | "start" | "create-node" | "delete-node"): ReadonlySet<string> {
  const nodeOf = ({ step }: Plan["operations"][number]) =>
    step.do !== kind || !("node" in step) ? [] : typeof step.node === "string" ? step.node : step.node.key;
  return new Set(plan.operations.flatMap(nodeOf));
}

/** MiB. */
function needOf(node: { readonly ram?: number; readonly template: string }, templates: ReadonlyMap<string, TemplateRules>): number {
  return node.ram ?? templates.get(node.template)?.need ?? 0;
}

/**
 * @param needs, free MiB
 * @param grows part of the memory is for nodes that already run
 */
export function shortage(needs: number, free: number, grows = false): string {
  const who = grows ? "start or get more memory need" : "start need";
  return `the nodes that would ${who} ${memoryText(needs)}${grows ? " more" : " of memory"}, ${memoryText(free)} are free`;
}

/** "6.2 GiB", "300 MiB". */
export function memoryText(mebibytes: number): string {
  return mebibytes < 1024 ? `${Math.round(mebibytes)} MiB` : `${(mebibytes / 1024).toFixed(1)} GiB`;
}
