import type { Lab } from "../../intent/lab/lab.ts";
import type { JoinedIds } from "../compare/join.ts";
import type { ObservedLab } from "../model/observed.ts";
import type { HostRules, Operation } from "../model/plan.ts";

interface Sized {
  readonly desired: Lab;
  /** null: the lab does not exist, or is created again. */
  readonly observed: ObservedLab | null;
  /** Native ids by key. */
  readonly ids: Pick<JoinedIds, "nodes">;
  readonly operations: readonly Operation[];
  readonly rules: HostRules;
}

/** Counts the nodes of the lab as it will be after the change, and their memory in MiB: the nodes of the intent, and those that the change leaves on the host. */
export function plannedSize({ desired, observed, ids, operations, rules }: Sized): { readonly nodes: number; readonly memory: number } {
  const templates = new Map(rules.templates.map((template) => [template.id, template]));
  const memoryOf = (node: { readonly ram?: number; readonly template: string }) => node.ram ?? templates.get(node.template)?.need ?? 0;
  const wanted = new Set(desired.nodes.flatMap(({ key }) => ids.nodes[key] ?? []));
  const deleted = new Set(operations.flatMap(({ step }) => (step.do === "delete-node" ? (ids.nodes[step.node] ?? step.node) : [])));
  const kept = (observed?.nodes ?? []).filter(({ id }) => !wanted.has(id) && !deleted.has(id));
  const nodes = [...desired.nodes, ...kept];
  return { nodes: nodes.length, memory: nodes.reduce((sum, node) => sum + memoryOf(node), 0) };
}
