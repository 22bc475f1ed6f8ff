import type { ObservedLab } from "../model/observed.ts";
import { digestText } from "../shared/canonical.ts";
import { type PlanInput, planLab } from "./plan-lab.ts";

/**
 * Returns a text of everything that a plan depends on: intent, options, the host's persisted definition, its lock, and the power of the nodes that
 * the plan changes. The plan is still valid if the text is equal; the service stores only its hash. Key order does not matter. For to_host it also
 * contains the steps, so that new template defaults or host features make a plan stale. A from_host plan changes no node, so power does not matter.
 */
export function identityText(input: PlanInput, direction: "to_host" | "from_host", plan = planLab(input)): string {
  const { desired, observed, prune, replace, allowUnsupported, wipe = true } = input;
  const bound = {
    version: 1,
    direction,
    desired: desired && sortedLab(desired),
    prune,
    replace,
    ...(allowUnsupported === true && { allowUnsupported }),
    wipe,
    observed: observed && persistedLab(observed),
    ids: input.ids ?? null,
  };
  if (direction === "from_host") return digestText(bound);

  const touched = new Set<string>();
  for (const { native_id } of [...plan.actions, ...plan.blocked, ...plan.operations]) if (native_id !== undefined) touched.add(native_id);
  for (const link of observed?.links ?? []) {
    if (touched.has(link.id)) for (const end of link.endpoints) if ("nodeId" in end) touched.add(end.nodeId);
  }
  const power = Object.fromEntries((observed?.nodes ?? []).filter(({ id }) => touched.has(id)).map(({ id, power }) => [id, steady(power)]));
  const work = plan.operations.map(({ id, disruption, changes }) => [id, disruption, changes]);
  return digestText({ ...bound, power, work, blocked: plan.blocked.map(({ id, reason }) => [id, reason.code]) });
}

/** A node that is starting counts as running and one that is stopping as stopped: waiting for it must not make a plan stale. */
function steady(power: ObservedLab["nodes"][number]["power"]): string {
  if (power === "starting") return "running";
  return power === "stopping" ? "stopped" : power;
}

/** An observed lab without its nodes' power and everything that depends on it. */
export type PersistedLab = Omit<ObservedLab, "nodes"> & {
  readonly nodes: readonly Omit<ObservedLab["nodes"][number], "power" | "clash" | "stuck" | "interfaces">[];
};

function sortedLab(lab: NonNullable<PlanInput["desired"]>): unknown {
  return { ...lab, nodes: byKey(lab.nodes), networks: byKey(lab.networks), links: byKey(lab.links) };
}

/** Returns the persisted part of an observed lab. */
export function persistedLab(observed: ObservedLab): PersistedLab {
  return {
    ...observed,
    nodes: byId(observed.nodes.map(({ power: _power, clash: _clash, stuck: _stuck, interfaces: _interfaces, ...persisted }) => persisted)),
    networks: byId(observed.networks),
    links: byId(observed.links),
  };
}

function byKey<T extends { readonly key: string }>(list: readonly T[]): readonly T[] {
  return [...list].sort((a, b) => (a.key < b.key ? -1 : 1));
}

function byId<T extends { readonly id: string }>(list: readonly T[]): readonly T[] {
  return [...list].sort((a, b) => (a.id < b.id ? -1 : 1));
}
