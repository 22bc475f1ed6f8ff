import { endpointKeys, type JoinedIds, joinIds } from "../compare/join.ts";
import type { ObservedLab } from "../model/observed.ts";
import type { Action, Disruption, HostRules, Plan, PlanKind } from "../model/plan.ts";
import type { Reason } from "../model/reasons.ts";
import { defined } from "../shared/defined.ts";
import { type PlanBuilder, planBuilder } from "./plan-builder.ts";

/** Plans a destroy: stops running nodes, wipes disks if `wipe` is set, and deletes the lab. */
export function planDestroy(observed: ObservedLab | null, rules: HostRules, stateIds: JoinedIds | undefined, wipe: boolean): Plan {
  const builder = planBuilder();
  if (observed === null) return builder.finish({ name: "", locked: false, unsupported: [], unchanged: 0, skippedPrune: 0 });
  const ids = joinIds(null, observed, stateIds);
  const reason: Reason = { code: "destroy", text: "the lab is destroyed" };
  const up = runningIds(observed);
  const disruption = up.size > 0 ? "stop" : "none";
  const names = new Map([...observed.nodes, ...observed.networks].map(({ id, name }) => [id, name]));
  const deletion = (kind: PlanKind, key: string, id: string, name?: string): Action =>
    defined<Action>({
      id: `${kind}:${key}`,
      op: "delete",
      kind,
      key,
      native_id: id,
      name,
      reason,
      disruption: kind === "lab" ? disruption : "none",
      affects: [],
      affected: undefined,
      changes: [],
      prune: false,
      line: undefined,
    });

  const lab = deletion("lab", observed.name, observed.id, observed.name);
  builder.add(lab);
  for (const [key, id] of Object.entries(ids.nodes)) {
    builder.add({ ...deletion("node", key, id, names.get(id)), disruption: up.has(id) ? "stop" : "none" });
  }
  for (const [key, id] of Object.entries(ids.networks)) builder.add(deletion("network", key, id, names.get(id)));
  for (const [key, id] of Object.entries(ids.links)) builder.add(deletion("link", key, id));
  runTeardown(builder, { observed, ids, rules, wipe, action: lab, disruption });
  return builder.finish({ name: observed.name, locked: observed.locked, unsupported: [], unchanged: 0, skippedPrune: 0 });
}

/** Adds the steps that remove a whole lab: stop, wipe, delete-lab. */
export function runTeardown(
  builder: PlanBuilder,
  teardown: {
    readonly observed: ObservedLab;
    readonly ids: JoinedIds;
    readonly rules: HostRules;
    readonly wipe: boolean;
    readonly action: Action;
    readonly disruption: Disruption;
  },
): void {
  const { observed, ids, rules, wipe, action, disruption } = teardown;
  const keys = endpointKeys(ids).nodes;
  for (const node of observed.nodes) {
    const key = keys.get(node.id);
    if (key === undefined) continue;
    const about = { kind: "node" as const, key, native_id: node.id, name: node.name };
    // The number of a node with unknown power may belong to another lab: the driver stops only nodes of this lab.
    if (node.power !== "stopped" && node.power !== "failed" && node.power !== "unknown") {
      builder.run("stop", action, { op: "stop", disruption, about, step: { do: "stop", node: key, mode: 3 } });
    }
    if (wipe && rules.features.wipe === true) {
      builder.run("wipe", action, { op: "wipe", disruption, about, step: { do: "wipe", node: key } });
    }
  }
  builder.run("delete-lab", action, { op: "delete", disruption, step: { do: "delete-lab", wipe } });
}

/** Returns the native ids of the nodes that run, which a teardown stops. */
export function runningIds(observed: ObservedLab): ReadonlySet<string> {
  const running = observed.nodes.filter(({ power }) => power === "running" || power === "starting" || power === "suspended");
  return new Set(running.map(({ id }) => id));
}
