import { originWords } from "../../engine/compare/origin.ts";
import type { Action } from "../../engine/model/plan.ts";

/**
 * A to_host plan (with prune) read the other way: what would change in the intent so that it says what the host has. Nothing runs, so
 * nothing is disrupted, and power is no intent.
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
    const who = action.origin && originWords[action.origin];
    const reason = who === undefined ? { code: `host_${op}`, text } : { code: who.code, text: `${text}: ${who.text}` };
    return [{ ...action, op, reason, disruption: "none", affects: [], prune: false, changes }];
  });
}
