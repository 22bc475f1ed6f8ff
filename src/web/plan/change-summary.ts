import type { PlanAction, PlanData } from "../../contract/schemas/plan.ts";

/** Returns the effect of a plan in one sentence: "3 changes: adds r4; r1 restarts; affects h1, r2". Names at most `most` parts of each kind. @param stored parts that the service keeps */
export function changeSummary(actions: readonly PlanAction[], stored: readonly string[] = [], most = 4): string {
  if (actions.length === 0) return `No change of the host${stored.length === 0 ? "" : `: Save keeps the ${stored.join(", ")}`}`;
  const count = actions.length === 1 ? "1 change" : `${actions.length} changes`;
  const named = (verb: string, which: (action: PlanAction) => boolean, text = partText) => {
    const keys = [...new Set(actions.filter(which).map(text))];
    return keys.length === 0 ? [] : [`${verb} ${listed(keys, most)}`];
  };
  const harmless = [
    ...named("starts", ({ op }) => op === "start"),
    ...named("renames", isRenamed, renameText),
    ...named("moves", isMoved),
    ...named(
      "changes",
      (action) => action.op === "update" && action.disruption === "none" && !isRenamed(action) && !isMoved(action),
      wholeText,
    ),
  ];
  const touched = new Set(actions.map(({ key }) => key));
  const affected = actions.flatMap(({ affected = [] }) => affected.filter(({ kind, key }) => kind === "node" && !touched.has(key)));
  const others = [...new Set(affected.map(({ key }) => key))];
  const parts = [
    ...named("adds", ({ op }) => op === "create", wholeText),
    ...named("deletes", ({ op }) => op === "delete", wholeText),
    ...named("stops", ({ op, disruption }) => op !== "delete" && (disruption === "stop" || op === "stop")),
    ...named("wipes", ({ op }) => op === "wipe"),
    ...named("restarts", ({ disruption }) => disruption === "restart"),
    ...named("recreates", ({ op, disruption }) => op !== "create" && op !== "delete" && (disruption === "recreate" || op === "replace")),
    ...named("interrupts", ({ op, disruption }) => op !== "delete" && op !== "create" && disruption === "link"),
    ...(others.length === 0 ? [] : [`affects ${listed(others, most)}`]),
  ];
  const all = [...parts, ...harmless].join("; ");
  return `${count}${all === "" ? "" : `: ${all}`}${parts.length === 0 ? "; no running node is disturbed" : ""}`;
}

function isRenamed({ op, kind, changes }: PlanAction): boolean {
  return op === "update" && kind !== "lab" && changes.length > 0 && changes.every(({ field }) => field === "name");
}

function isMoved({ op, changes }: PlanAction): boolean {
  return op === "update" && changes.length > 0 && changes.every(({ field }) => field === "position");
}

function renameText({ changes }: PlanAction): string {
  const { before, after } = changes[0]!;
  return `${String(before)} to ${String(after)}`;
}

/** Returns the text of the part that an action changes: of a configuration itself, not of its node. */
function wholeText(action: PlanAction): string {
  if (action.kind === "config") return `the configuration of ${action.key}`;
  return action.kind === "lab" ? "the lab" : partText(action);
}

function partText({ kind, key }: PlanAction): string {
  return kind === "link" ? `link ${key.replace(" -- ", " – ")}` : key;
}

function listed(keys: readonly string[], most: number): string {
  const rest = keys.length - most;
  return rest > 0 ? `${keys.slice(0, most).join(", ")} and ${rest} more` : keys.join(", ");
}

/** Returns why a plan cannot be applied, by its first reason; undefined if it can, or if its lab is locked. */
export function refusalText({ applicable, blocked = [], unsupported = [] }: PlanData): string | undefined {
  if (applicable === true) return undefined;
  const [first, ...others] = [
    ...blocked.map(({ reason }) => reason.text),
    ...unsupported.map((what) => `this host does not support ${what}`),
  ];
  if (first === undefined) return undefined;
  return `cannot be applied: ${first}${others.length === 0 ? "" : `, and ${others.length} more in Details`}`;
}
