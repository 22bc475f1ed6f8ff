import { compareNatural } from "../../base/natural-order.ts";
import type { Action, Operation, PlanKind } from "../model/plan.ts";

/**
 * The phases of host steps, in order. Nodes stop first. Links are removed before the nodes and networks at their ends. Deletions come before
 * creations, so that names are free. Nodes start after their links exist.
 */
export const phases = [
  "stop",
  "wipe",
  "delete-lab",
  "create-lab",
  "update-lab",
  "delete-link",
  "delete-node",
  "delete-network",
  "create-network",
  "update-network",
  "create-node",
  "update-node",
  "config",
  "create-link",
  "update-link",
  "start",
] as const;

export type Phase = (typeof phases)[number];

export interface Phased {
  readonly phase: Phase;
  readonly operation: Operation;
}

/**
 * Returns the steps in the order in which the host runs them: by phase, then by key in natural order (r2 before r10). Steps of one resource in one
 * phase keep the order in which they were added.
 */
export function orderOperations(steps: readonly Phased[]): readonly Operation[] {
  const byPhase = new Map<Phase, Operation[]>(phases.map((phase) => [phase, []]));
  for (const { phase, operation } of steps) byPhase.get(phase)?.push(operation);
  return phases.flatMap((phase) => (byPhase.get(phase) ?? []).sort((a, b) => compareNatural(a.key, b.key)));
}

const kinds: readonly PlanKind[] = ["lab", "text", "network", "node", "config", "link"];

/** Order for people: the lab, then networks, nodes with their configurations, links. */
export function orderActions(actions: readonly Action[]): readonly Action[] {
  const rank = (action: Action) => kinds.indexOf(action.kind === "config" ? "node" : action.kind);
  return [...actions].sort((a, b) => rank(a) - rank(b) || compareNatural(a.key, b.key) || kinds.indexOf(a.kind) - kinds.indexOf(b.kind));
}
