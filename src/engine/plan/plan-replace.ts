import type { Lab } from "../../intent/lab/lab.ts";
import { type JoinedIds, joinIds } from "../compare/join.ts";
import type { ObservedLab } from "../model/observed.ts";
import type { Action, HostRules, Plan } from "../model/plan.ts";
import type { Reason } from "../model/reasons.ts";
import { planBuilder } from "./plan-builder.ts";
import { runningIds, runTeardown } from "./plan-destroy.ts";

/** Plans stop, wipe and delete, then all steps of `fresh`, the plan for a host without the lab. */
export function planReplace(input: {
  readonly desired: Lab;
  readonly observed: ObservedLab;
  readonly rules: HostRules;
  readonly ids?: JoinedIds;
  readonly fresh: Plan;
  readonly wipe: boolean;
}): Plan {
  const { desired, observed, rules, fresh, wipe } = input;
  const ids = joinIds(desired, observed, input.ids);
  const up = runningIds(observed);
  const disruption = up.size > 0 ? "recreate" : "none";
  const builder = planBuilder();
  const reason: Reason = { code: "replace", text: "the lab is replaced" };

  const native = new Map<string, string>([[`lab:${desired.name}`, observed.id]]);
  for (const [kind, record] of [
    ["node", ids.nodes],
    ["network", ids.networks],
    ["link", ids.links],
  ] as const) {
    for (const [key, id] of Object.entries(record)) native.set(`${kind}:${key}`, id);
  }
  const kept = new Set<string>();
  const actions = fresh.actions.map((action): Action => {
    const id = native.get(action.id);
    if (id === undefined) return action;
    kept.add(action.id);
    const felt = action.kind === "lab" ? disruption : action.kind === "node" && up.has(id) ? "recreate" : "none";
    return { ...action, op: "replace", native_id: id, reason, disruption: felt };
  });
  for (const action of actions) builder.add(action);
  for (const [id, nativeId] of native) {
    if (kept.has(id)) continue;
    const kind = id.slice(0, id.indexOf(":")) as "node" | "network" | "link";
    const felt = kind === "node" && up.has(nativeId) ? "stop" : "none";
    builder.add({
      id,
      op: "delete",
      kind,
      key: id.slice(kind.length + 1),
      native_id: nativeId,
      reason,
      disruption: felt,
      affects: [],
      changes: [],
      prune: false,
    });
  }
  for (const action of fresh.blocked) builder.block(action);

  const lab = actions.find(({ kind }) => kind === "lab");
  if (lab === undefined) throw new Error("a plan for a new lab has no action for the lab");
  runTeardown(builder, { observed, ids, rules, wipe, action: lab, disruption });
  return builder.finish({
    name: desired.name,
    locked: observed.locked,
    unsupported: fresh.unsupportedFields,
    allowUnsupported: true,
    unchanged: 0,
    skippedPrune: 0,
    followedBy: fresh.operations.map((operation) => ({ ...operation, disruption })),
  });
}
