import type { Lab } from "../../intent/lab/lab.ts";
import { compareLab } from "../compare/compare-lab.ts";
import type { Comparison } from "../compare/comparison.ts";
import type { JoinedIds } from "../compare/join.ts";
import { propagate } from "../effects/propagate.ts";
import type { ObservedLab } from "../model/observed.ts";
import type { Action, HostRules, Plan } from "../model/plan.ts";
import { admit } from "./admission.ts";
import { planBuilder } from "./plan-builder.ts";
import { planDestroy } from "./plan-destroy.ts";
import { planLabItself } from "./plan-lab-itself.ts";
import { announceLink, runLink } from "./plan-link.ts";
import { planNetwork } from "./plan-network.ts";
import { planForcedRestart, planNode } from "./plan-node.ts";
import { planReplace } from "./plan-replace.ts";
import type { Planning } from "./planning.ts";

export interface PlanInput {
  /** null: destroy. */
  readonly desired: Lab | null;
  /** null: the host has no lab at this path. */
  readonly observed: ObservedLab | null;
  readonly rules: HostRules;
  /** Native ids as recorded. Other objects are joined by name (join.ts). */
  readonly ids?: JoinedIds;
  /** Keys of nodes that an earlier change was cut off before starting. They are started, unless the intent wants them stopped. */
  readonly owedStarts?: readonly string[];
  /** The last part of the lab's path. It is the name of a new lab on a host that cannot store another name. */
  readonly pathName?: string;
  /** Delete resources that only the host has. */
  readonly prune: boolean;
  /** Stop, wipe, delete and recreate the lab instead of changing it. */
  readonly replace: boolean;
  /** Apply the rest if the host cannot store some fields. A replace, which only deploy does, always allows it. */
  readonly allowUnsupported?: boolean;
  /** For destroy and replace: delete the nodes' disks. Absent: true. */
  readonly wipe?: boolean;
}

/** Returns the changes that make the host match the intent. Pure: the same input gives the same plan. */
export function planLab(input: PlanInput): Plan {
  const { desired, observed, rules, ids, wipe = true } = input;
  if (desired === null) return planDestroy(observed, rules, ids, wipe);
  return admit(planWanted({ ...input, desired }), { desired, observed, rules, ids });
}

function planWanted(input: PlanInput & { readonly desired: Lab }): Plan {
  const { desired, observed, rules, ids, prune, wipe = true } = input;
  if (observed !== null && input.replace) {
    const { pathName = observed.name } = input;
    const fresh = planWanted({ desired, observed: null, rules, prune, replace: false, pathName });
    return planReplace({ desired, observed, rules, fresh, wipe, ...(ids !== undefined && { ids }) });
  }
  const { allowUnsupported, owedStarts, pathName } = input;
  const comparison = compareLab({
    desired,
    observed,
    rules,
    prune,
    ...(ids !== undefined && { ids }),
    ...(owedStarts !== undefined && { owedStarts }),
    ...(pathName !== undefined && { pathName }),
  });
  return planComparison(comparison, allowUnsupported);
}

function planComparison(comparison: Comparison, allowUnsupported: boolean | undefined): Plan {
  propagate(comparison);
  const builder = planBuilder();
  const templates = new Map(comparison.rules.templates.map((template) => [template.id, template]));
  /** By id, so that a step can be added to the action that caused it. */
  const actions = new Map<string, Action>();
  const plan: Planning = { comparison, builder, templates, actions, changed: new Set(), powered: new Set() };

  planLabItself(plan);
  for (const network of comparison.networks.values()) planNetwork(plan, network);
  for (const link of comparison.links.values()) announceLink(plan, link);
  for (const node of comparison.nodes.values()) planNode(plan, node);
  for (const node of comparison.nodes.values()) planForcedRestart(plan, node);
  for (const link of comparison.links.values()) runLink(plan, link);

  const all = [...comparison.nodes.values(), ...comparison.networks.values(), ...comparison.links.values()];
  return builder.finish({
    name: comparison.desired.name,
    locked: comparison.observed?.locked ?? false,
    unsupported: comparison.unsupported,
    allowUnsupported,
    unchanged: all.filter((one) => one.fate === "keep" && !plan.changed.has(one)).length,
    skippedPrune: all.filter((one) => one.fate === "extra").length,
  });
}
