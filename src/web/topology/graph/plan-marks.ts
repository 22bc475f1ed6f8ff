import type { PlanAction } from "../../../contract/schemas/plan.ts";

/** The effect of a plan on a part of the drawing. "affected" means that only a change of another part disturbs it. */
export type PlanMark = "created" | "changed" | "deleted" | "down" | "affected";

export const markText: Readonly<Record<PlanMark, string>> = {
  created: "will be created",
  changed: "will change",
  deleted: "will be deleted",
  down: "will go down",
  affected: "will be affected",
};

/** From the weakest to the strongest: a part with several marks shows the strongest. */
const strength: readonly PlanMark[] = ["affected", "changed", "created", "down", "deleted"];

/** Returns the mark of each part that a plan touches, by "node:r1", "network:lan" or "link:r1:eth1 -- r2:eth1". */
export function planMarks(actions: readonly PlanAction[]): ReadonlyMap<string, PlanMark> {
  const marks = new Map<string, PlanMark>();
  const put = (part: string, mark: PlanMark) => {
    const before = marks.get(part);
    if (before === undefined || strength.indexOf(mark) > strength.indexOf(before)) marks.set(part, mark);
  };
  for (const action of actions) {
    const kind = action.kind === "config" ? "node" : action.kind;
    if (kind === "lab" || kind === "text") continue;
    put(`${kind}:${action.key}`, markOf(action));
    for (const { kind, key } of action.affected ?? []) put(`${kind}:${key}`, "affected");
  }
  return marks;
}

function markOf({ op, kind, disruption }: PlanAction): PlanMark {
  // A node whose configuration is created or deleted changes.
  if (op === "create" && kind !== "config") return "created";
  if (op === "delete" && kind !== "config") return "deleted";
  return disruption === "none" || disruption === "link" ? "changed" : "down";
}
