import { originWords } from "../../engine/compare/origin.ts";
import type { Action, Change } from "../../engine/model/plan.ts";
import type { Reason } from "../../engine/model/reasons.ts";
import { orderActions } from "../../engine/plan/order.ts";
import type { Lab, LabNetwork, LabNode } from "../../intent/lab/lab.ts";

/**
 * Reverses a to_host plan (with prune) to the changes that make the intent match the host. No host step runs, so nothing is disrupted. Power is not
 * part of an intent.
 */
export function reversed(actions: readonly Action[]): readonly Action[] {
  return actions.flatMap((action): Action[] => {
    const op = ({ create: "delete", delete: "create", update: "update", replace: "update" } as const)[
      action.op as "create" | "delete" | "update" | "replace"
    ];
    const changes = action.changes
      .filter(({ field }) => field !== "power")
      .map((change) => ({ ...change, before: change.after, after: change.before }));
    if (op === undefined || (op === "update" && changes.length === 0)) return [];
    const text = { create: "on the host, not in the intent", delete: "in the intent, not on the host", update: "differs on the host" }[op];
    const origin = action.origin && originWords[action.origin];
    const reason: Reason = origin === undefined ? { code: `host_${op}`, text } : { code: origin.code, text: `${text}: ${origin.text}` };
    const { affected: _affected, note: _note, ...kept } = action;
    return [{ ...kept, op, reason, disruption: "none", affects: [], prune: false, changes }];
  });
}

/**
 * The actions, with what a pull writes although the intent leaves it to the host, so that no change to the host follows from it: a position that somebody
 * changed, and whether a node starts with its lab.
 * @param captured the lab as a pull writes it
 */
export function withUnmanaged(actions: readonly Action[], intent: Lab, captured: Lab): readonly Action[] {
  const found = (["network", "node"] as const).flatMap((kind) => {
    const now = new Map<string, LabNode | LabNetwork>(captured[`${kind}s`].map((one) => [one.key, one]));
    return intent[`${kind}s`].flatMap((one: LabNode | LabNetwork): Action[] => {
      const changes = unmanaged(one, now.get(one.key));
      return changes.length === 0 ? [] : [hostUpdate(kind, one, changes)];
    });
  });
  const ids = new Set(actions.map(({ id }) => id));
  const more = new Map(found.map(({ id, changes }) => [id, changes]));
  const merged = actions.map((action) => {
    const fields = new Set(action.changes.map(({ field }) => field));
    const added = action.op === "update" ? (more.get(action.id) ?? []).filter(({ field }) => !fields.has(field)) : [];
    return added.length === 0 ? action : { ...action, changes: [...action.changes, ...added] };
  });
  return orderActions([...merged, ...found.filter(({ id }) => !ids.has(id))]);
}

function unmanaged(wanted: LabNode | LabNetwork, has: LabNode | LabNetwork | undefined): readonly Change[] {
  if (has === undefined) return [];
  const position = wanted.position === undefined ? has.position : undefined;
  const start = "template" in wanted && "template" in has && wanted.start === undefined ? has.start : undefined;
  return Object.entries({ start, position }).flatMap(([field, after]) => (after === undefined ? [] : [{ field, before: null, after }]));
}

function hostUpdate(kind: "network" | "node", { key, name }: LabNode | LabNetwork, changes: readonly Change[]): Action {
  const reason: Reason = { code: "host_update", text: "differs on the host" };
  return { id: `${kind}:${key}`, op: "update", kind, key, name, reason, disruption: "none", affects: [], prune: false, changes };
}
