import { lineDiff } from "../../base/line-diff.ts";
import { compareNatural } from "../../base/natural-order.ts";
import { originWords } from "../compare/origin.ts";
import type { Action, Change, Origin, Plan, PlanOp } from "../model/plan.ts";

/** The input of planText: a plan without its steps, and the lab's name and lock. */
export type TextInput = Pick<Plan, "actions" | "blocked" | "unsupported" | "summary"> & { readonly name: string; readonly locked: boolean };

/** Returns the plan as a terminal shows it, without colours: one or two lines per changed resource, then blocked and unsupported parts, then the summary. */
export function planText(plan: TextInput): string {
  const lines: string[] = [];
  if (plan.actions.length > 0) {
    lines.push(`Labwright will make the host match ${plan.name}:`, "");
    // The origin is left out if everything comes from the intent.
    const marked = plan.actions.some(({ origin }) => origin === "host" || origin === "both");
    for (const action of plan.actions) lines.push(...actionLines(action, marked));
    lines.push("");
  }
  if (plan.blocked.length > 0) {
    lines.push("Blocked:");
    for (const { kind, key, line, reason } of plan.blocked)
      lines.push(`  ! ${kind} ${key}${placeText(line)}: ${reason.text} (${reason.code})`);
    lines.push("");
  }
  if (plan.unsupported.length > 0) {
    lines.push("Not supported by this host:");
    for (const entry of plan.unsupported) lines.push(`  ? ${entry}`);
    lines.push("");
  }
  if (plan.locked) lines.push("The lab is locked on the host: nothing can be applied until it is unlocked.", "");
  if (plan.summary.skipped_prune > 0) lines.push(`${plan.summary.skipped_prune} extra on the host, left alone (prune deletes them).`, "");
  lines.push(summaryLine(plan));
  return `${lines.join("\n")}\n`;
}

const marks: Readonly<Record<PlanOp, string>> = { create: "+", update: "~", replace: "∓", delete: "-", start: "▸", stop: "■", wipe: "□" };

const maxAffected = 8;
const maxEntries = 6;

function actionLines(action: Action, marked: boolean): readonly string[] {
  const mark = (origin: Origin | undefined) => (marked && origin !== undefined ? ` (${originWords[origin].text})` : "");
  const name = action.name !== undefined && action.name !== action.key ? ` (${action.name})` : "";
  const head = `  ${marks[action.op]} ${action.kind} ${action.key}${name}${placeText(action.line)}`;
  const felt = action.disruption === "none" ? "" : ` [${disruptionText(action)}]`;
  if (action.op === "create") return [head + createdText(action) + felt + mark(action.origin), ...noteLine(action), ...affectsLine(action)];
  if (action.op === "delete")
    return [`${head}: ${action.reason.text}${felt}${namesOrigin(action) ? "" : mark(action.origin)}`, ...affectsLine(action)];
  const reason = action.op === "update" ? "" : `: ${action.reason.text}`;
  return [head + reason + felt, ...changeLines(action.changes, mark), ...noteLine(action), ...affectsLine(action)];
}

function noteLine({ note }: Action): readonly string[] {
  return note === undefined ? [] : [`      note: ${note}`];
}

function placeText(line: number | undefined): string {
  return line === undefined ? "" : ` (line ${line})`;
}

/** Whether the reason's text already names the origin. */
function namesOrigin({ origin, reason }: Action): boolean {
  return origin !== undefined && reason.text.endsWith(originWords[origin].text);
}

function disruptionText(action: Action): string {
  const texts = {
    none: "",
    link: "link flaps",
    restart: "restart",
    stop: action.kind === "lab" ? "running nodes stop" : "stops",
    recreate: "recreated",
  };
  return action.op === "stop" ? "stops" : texts[action.disruption];
}

function createdText({ kind, changes }: Action): string {
  const shown = changes
    .filter(({ field }) => field !== "name" && !(kind === "node" && field === "icon"))
    .map(({ field, after }) => `${field} ${inline(field, after)}`);
  return shown.length === 0 ? "" : `: ${shown.join(", ")}`;
}

function changeLines(changes: readonly Change[], mark: (origin: Origin | undefined) => string): readonly string[] {
  const width = Math.max(...changes.map(({ field }) => field.length), 0);
  return changes.flatMap(({ field, before, after, origin }) => {
    const difference = isText(field, before, after)
      ? textDifference(before, after)
      : (listDifference(before, after) ?? `${inline(field, before)} → ${inline(field, after)}`);
    const lines = field === "startup-config" ? changedLines(before, after) : [];
    return [`      ${field.padEnd(width)}  ${difference}${mark(origin)}`, ...lines];
  });
}

/** Returns the entries that differ between two lists; undefined if one is not a list of several entries, or only the order differs. */
function listDifference(before: unknown, after: unknown): string | undefined {
  if (!Array.isArray(before) || !Array.isArray(after) || (before.length < 2 && after.length < 2)) return undefined;
  const texts = (list: readonly unknown[]) => list.map((entry) => (typeof entry === "string" ? JSON.stringify(entry) : inline("", entry)));
  const [old, now] = [texts(before), texts(after)];
  const changed = [
    ...old.filter((entry) => !now.includes(entry)).map((entry) => `-${entry}`),
    ...now.filter((entry) => !old.includes(entry)).map((entry) => `+${entry}`),
  ];
  if (changed.length === 0) return undefined;
  const more = changed.length > maxEntries ? ` and ${changed.length - maxEntries} more` : "";
  return `${before.length} → ${after.length} entries: ${changed.slice(0, maxEntries).join(", ")}${more}`;
}

function affectsLine({ affects, disruption }: Action): readonly string[] {
  if (affects.length === 0 || disruption === "none") return [];
  const shown = affects.slice(0, maxAffected).join(", ");
  return [`      affects ${shown}${affects.length > maxAffected ? ` and ${affects.length - maxAffected} more` : ""}`];
}

function isText(field: string, before: unknown, after: unknown): boolean {
  return field === "startup-config" || [before, after].some((value) => typeof value === "string" && value.includes("\n"));
}

/** Returns a value on one line. A long text is shown by its length, so that a configuration does not fill the plan. */
function inline(field: string, value: unknown): string {
  if (value === null || value === undefined) return "(none)";
  if (typeof value === "string") {
    if (isText(field, null, value)) return `${lineCount(value)} ${lineCount(value) === 1 ? "line" : "lines"}`;
    return value.length > 80 ? `${JSON.stringify(value.slice(0, 77))}…` : /^[\w./:() -]+$/.test(value) ? value : JSON.stringify(value);
  }
  // The way out of a node, and into it: who applies a plan must see it.
  if (Array.isArray(value) && (field === "binds" || field === "ports") && value.length <= maxEntries) return `[${value.join(", ")}]`;
  if (Array.isArray(value)) return `[${value.length === 1 ? inline(field, value[0]) : `${value.length} entries`}]`;
  if (typeof value === "object") {
    const entries = Object.entries(value).sort(([a], [b]) => compareNatural(a, b));
    return `{${entries.map(([key, one]) => `${key}: ${inline(field, one)}`).join(", ")}}`;
  }
  return String(value);
}

/** Lines of a changed startup-config that are shown at most. */
const maxChangedLines = 20;

/** Returns the lines of a text that differ, with + and -, and the unindented line above each group: the section of a configuration. */
function changedLines(before: unknown, after: unknown): readonly string[] {
  if (typeof before !== "string" || typeof after !== "string") return [];
  const shown: string[] = [];
  let section: string | undefined;
  for (const { sign, text } of lineDiff(before.trimEnd().split("\n"), after.trimEnd().split("\n"))) {
    const isTop = /^[^\s!]/.test(text);
    if (sign === " ") {
      if (isTop) section = text;
      continue;
    }
    if (isTop) section = undefined;
    if (section !== undefined) shown.push(`          ${section}`);
    section = undefined;
    shown.push(`        ${sign} ${text}`);
  }
  const more = shown.length - maxChangedLines;
  return more > 0 ? [...shown.slice(0, maxChangedLines), `          … and ${more} more`] : shown;
}

function textDifference(before: unknown, after: unknown): string {
  const a = typeof before === "string" ? before : "";
  const b = typeof after === "string" ? after : "";
  const counts = new Map<string, number>();
  for (const line of a === "" ? [] : a.split("\n")) counts.set(line, (counts.get(line) ?? 0) - 1);
  for (const line of b === "" ? [] : b.split("\n")) counts.set(line, (counts.get(line) ?? 0) + 1);
  let added = 0;
  let removed = 0;
  for (const count of counts.values()) {
    if (count > 0) added += count;
    else removed -= count;
  }
  const moved = added === 0 && removed === 0 ? ", lines in another order" : "";
  return `${lineCount(a)} → ${lineCount(b)} lines (+${added} -${removed}${moved})`;
}

function lineCount(text: string): number {
  if (text === "") return 0;
  let lines = text.endsWith("\n") ? 0 : 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines++;
  return lines;
}

function summaryLine({ actions, blocked, unsupported, summary }: TextInput): string {
  if (actions.length === 0 && blocked.length === 0) {
    return unsupported.length > 0
      ? "No changes: the host matches the intent as far as it can."
      : "No changes. The host matches the intent.";
  }
  const changes = [`${summary.creates} to create`, `${summary.updates} to change`, `${summary.deletes} to delete`];
  if (summary.replaces > 0) changes.push(`${summary.replaces} to replace`);
  const power: string[] = [];
  if (summary.stops > 0) power.push(`${summary.stops} ${summary.stops === 1 ? "node" : "nodes"} will stop`);
  if (summary.starts > 0) power.push(`${summary.starts} ${summary.starts === 1 ? "node" : "nodes"} will start`);
  return `Plan: ${changes.join(", ")}${power.length > 0 ? `; ${power.join(", ")}` : ""}.`;
}
