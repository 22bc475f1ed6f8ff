import type { PlanAction } from "../../contract/schemas/plan.ts";

/** Returns the effect of a plan in one sentence: "3 changes: adds r4; r1 restarts; affects h1, r2". Names at most `most` parts of each kind. @param stored parts that the service keeps */
export function changeSummary(actions: readonly PlanAction[], stored: readonly string[] = [], most = 4): string {
  if (actions.length === 0) return `No change of the host${stored.length === 0 ? "" : `: Save keeps the ${stored.join(", ")}`}`;
  const count = actions.length === 1 ? "1 change" : `${actions.length} changes`;
  const named = (verb: string, which: (action: PlanAction) => boolean) => {
    const keys = [...new Set(actions.filter(which).map(partText))];
    return keys.length === 0 ? [] : [`${verb} ${listed(keys, most)}`];
  };
  const touched = new Set(actions.map(({ key }) => key));
  const affected = actions.flatMap(({ affected = [] }) => affected.filter(({ kind, key }) => kind === "node" && !touched.has(key)));
  const others = [...new Set(affected.map(({ key }) => key))];
  const parts = [
    ...named("adds", ({ op }) => op === "create"),
    ...named("deletes", ({ op }) => op === "delete"),
    ...named("stops", ({ op, disruption }) => op !== "delete" && (disruption === "stop" || op === "stop")),
    ...named("restarts", ({ disruption }) => disruption === "restart"),
    ...named("recreates", ({ op, disruption }) => op !== "create" && op !== "delete" && (disruption === "recreate" || op === "replace")),
    ...named("interrupts", ({ op, disruption }) => op !== "delete" && op !== "create" && disruption === "link"),
    ...(others.length === 0 ? [] : [`affects ${listed(others, most)}`]),
  ];
  return parts.length === 0 ? `${count}; no running node is disturbed` : `${count}: ${parts.join("; ")}`;
}

function partText({ kind, key }: PlanAction): string {
  return kind === "link" ? `link ${key.replace(" -- ", " – ")}` : key;
}

function listed(keys: readonly string[], most: number): string {
  const rest = keys.length - most;
  return rest > 0 ? `${keys.slice(0, most).join(", ")} and ${rest} more` : keys.join(", ");
}
