import type { PlanAction } from "../../../contract/schemas/plan.ts";

/** What a plan does to a thing in the picture: it comes, changes, goes, goes down for the change, or only feels that of another. */
export type PlanMark = "comes" | "changes" | "goes" | "down" | "feels";

export const markWords: Readonly<Record<PlanMark, string>> = {
  comes: "will be made",
  changes: "will change",
  goes: "will be deleted",
  down: "will go down",
  feels: "will feel it",
};

const strength: readonly PlanMark[] = ["feels", "changes", "comes", "down", "goes"];

/** By "node:r1", "network:lan" or "link:r1:eth1 -- r2:eth1". The strongest of several counts. */
export function planMarks(actions: readonly PlanAction[]): ReadonlyMap<string, PlanMark> {
  const marks = new Map<string, PlanMark>();
  const put = (thing: string, mark: PlanMark) => {
    const before = marks.get(thing);
    if (before === undefined || strength.indexOf(mark) > strength.indexOf(before)) marks.set(thing, mark);
  };
  for (const action of actions) {
    const kind = action.kind === "config" ? "node" : action.kind;
    if (kind === "lab" || kind === "text") continue;
    put(`${kind}:${action.key}`, markOf(action));
    for (const { kind, key } of action.affected ?? []) put(`${kind}:${key}`, "feels");
  }
  return marks;
}

function markOf({ op, disruption }: PlanAction): PlanMark {
  if (op === "create") return "comes";
  if (op === "delete") return "goes";
  return disruption === "none" || disruption === "link" ? "changes" : "down";
}
