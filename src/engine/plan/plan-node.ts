import type { LabNode } from "../../intent/lab/lab.ts";
import type { NodeWork } from "../compare/comparison.ts";
import { type FieldDifference, nodeChanges } from "../compare/diff-node.ts";
import { affectedByNode } from "../effects/affects.ts";
import { clashObstacle, nodeObstacles, stuckObstacle } from "../effects/blocked.ts";
import { heavier } from "../effects/disruption.ts";
import { configRestart, fieldRule, goesDown, nodeAction, takesConfigLive } from "../effects/propagate.ts";
import type { Action, Change, Disruption, PlanOp } from "../model/plan.ts";
import type { Reason } from "../model/reasons.ts";
import { unsupportedOnNode } from "../model/support.ts";
import { defined } from "../shared/defined.ts";
import { announce, differs, onlyInIntent, onlyOnHost, type Planning } from "./planning.ts";

/** Plans a node that is added, changed, recreated or deleted, with its configuration and its power. */
export function planNode(plan: Planning, node: NodeWork): void {
  if (node.fate === "create") planNewNode(plan, node);
  else if (node.fate === "delete") planDeletedNode(plan, node);
  else if (node.need === "recreate") planRecreate(plan, node);
  else planChangedNode(plan, node);
}

function planDeletedNode(plan: Planning, node: NodeWork): void {
  const action = nodeActionOf(node, "delete", onlyOnHost, node.level, [], true);
  announce(plan, node, action);
  runStop(plan, node, action);
  plan.builder.run("delete-node", action, {
    op: "delete",
    disruption: node.level,
    step: { do: "delete-node", node: node.key },
  });
}

/**
 * Returns two lists of changes. `declared`: the declared power, if the host persists it. `power`: the start or stop that the node needs, because its power is
 * not the declared one or because it has failed.
 */
function powerChanges(plan: Planning, node: NodeWork): { readonly declared: readonly Change[]; readonly power: readonly Change[] } {
  const start = node.intent?.start;
  const { observed } = node;
  if (observed === undefined) return { declared: [], power: [] };
  const persisted = unsupportedOnNode(plan.comparison.rules, node.template, "start") === undefined;
  return {
    declared:
      start !== undefined && persisted && observed.start !== start
        ? [{ field: "start", before: observed.start ?? null, after: start }]
        : [],
    power: node.up === node.wantUp ? [] : [{ field: "power", before: observed.power, after: node.wantUp ? "running" : "stopped" }],
  };
}

function isManaged({ comparison: { desired } }: Planning): boolean {
  return desired.management !== undefined;
}

function planChangedNode(plan: Planning, node: NodeWork): void {
  const { intent, before, after } = node;
  const waits = (one: FieldDifference) => fieldLevel(node, one) !== "none";
  const config = node.differences.find(({ field }) => field === "startupConfig");
  const others = node.differences.filter((one) => one !== config);
  const hard = others.filter(waits);
  const { declared, power } = powerChanges(plan, node);
  const template = plan.templates.get(intent?.template ?? "");
  const wrong = node.differences.length > 0 ? nodeObstacles(node, plan.comparison.rules, template, isManaged(plan)) : [];
  const held = clashObstacle(node, power.length > 0) ?? stuckObstacle(node, power.length > 0 && node.wantUp);
  const obstacles = wrong.length > 0 || held === undefined ? wrong : [held];
  // The step that runs at once must not contain the values that wait for the restart.
  const liveNode = after && before && withFields(after, before, node.differences.filter(waits));

  if (others.length + declared.length + power.length > 0) {
    const changes = [...others.flatMap((one) => one.changes), ...declared, ...power];
    const onlyPower = others.length + declared.length === 0;
    const op: PlanOp = !onlyPower ? "update" : node.wantUp ? "start" : "stop";
    const hardLevel = hard.map((one) => fieldLevel(node, one)).reduce(heavier, "none");
    const level = power.length > 0 ? heavier(hardLevel, node.level) : hardLevel;
    const action = nodeActionOf(node, op, onlyPower ? wantedPower(node) : differs(changes), level, changes, false);
    if (announce(plan, node, action, obstacles)) {
      const live = others.filter((one) => !waits(one));
      const fields = [...live.map(({ field }) => field), ...(declared.length > 0 ? ["start"] : [])];
      const liveChanges = [...live.flatMap((one) => one.changes), ...declared];
      const part = hard.length > 0 ? "update-live" : "update";
      runUpdate(plan, action, { node: liveNode, fields, changes: liveChanges, disruption: "none", part });
      const hardChanges = hard.flatMap((one) => one.changes);
      const hardFields = hard.map(({ field }) => field);
      runUpdate(plan, action, { node: after, fields: hardFields, changes: hardChanges, disruption: hardLevel, part: "update" });
    }
  }
  if (config !== undefined) {
    const level = fieldLevel(node, config);
    const op: PlanOp = config.changes[0]?.before === null ? "create" : config.changes[0]?.after === null ? "delete" : "update";
    const own = nodeActionOf(node, op, differs(config.changes), level, config.changes, false);
    const taken = template?.configTaken ?? configNote(node);
    const note = taken === undefined ? {} : { note: taken };
    const action: Action = { ...own, id: configAction(node), kind: "config", ...note };
    if (announce(plan, node, action, obstacles)) {
      const wanted = waits(config) ? after : liveNode;
      runUpdate(plan, action, { node: wanted, fields: ["startupConfig"], changes: config.changes, disruption: level, part: op });
    }
  }
  const restarts = hard.some(({ field }) => fieldRule(node, field) === "restart");
  const asked = restarts || power.length > 0 ? nodeAction(node) : config !== undefined && waits(config) ? configAction(node) : undefined;
  const owner = plan.actions.get(asked ?? "");
  if (owner !== undefined) runPower(plan, node, owner);
}

/** Plans the restart of a node for another action. Runs last, when all actions are known. */
export function planForcedRestart(plan: Planning, node: NodeWork): void {
  const owner = plan.actions.get(node.cause ?? "");
  if (owner !== undefined && node.need === "restart" && !plan.powered.has(node)) runPower(plan, node, owner);
}

/** Returns how much a change of the field, with everything that must come before it, disturbs running nodes. */
function fieldLevel(node: NodeWork, { field }: FieldDifference): Disruption {
  if (node.up && fieldRule(node, field) === "restart") return node.level;
  if (field !== "ethernet") return "none";
  // An interface is removed after its link, which may have to wait for the other end.
  const links = node.links.filter(({ fate }) => fate === "delete").map(({ level }) => level);
  const level = links.reduce(heavier, "none");
  return level === "link" ? "none" : level;
}

/** Returns a note whether a running router takes the change, and if not, why. */
function configNote(node: NodeWork): string | undefined {
  if (!node.up || !node.wantUp) return undefined;
  if (takesConfigLive(node)) return "live: the running router gets the changed lines and does not restart";
  const reason = configRestart(node);
  return reason === undefined ? undefined : `restart: ${reason}`;
}

function configAction(node: NodeWork): string {
  return `config:${node.key}`;
}

function wantedPower(node: NodeWork): Action["reason"] {
  const power = node.observed?.power;
  if (node.isOwed && node.intent?.start === undefined)
    return { code: "start_owed", text: "an earlier change was to start it, and it does not run" };
  if (node.wantUp && power === "failed") return { code: "failed", text: "failed, is started again" };
  return { code: node.wantUp ? "wanted_running" : "wanted_stopped", text: `${power}, wanted ${node.wantUp ? "running" : "stopped"}` };
}

function runUpdate(
  plan: Planning,
  action: Action,
  update: {
    readonly node: LabNode | undefined;
    readonly fields: readonly string[];
    readonly changes: readonly Change[];
    readonly disruption: Disruption;
    readonly part: string;
  },
): void {
  const { node, fields, changes, disruption, part } = update;
  if (node === undefined || fields.length === 0) return;
  const op = action.kind === "config" ? action.op : "update";
  const phase = action.kind === "config" ? "config" : "update-node";
  plan.builder.run(phase, action, { op, disruption, changes, part, step: { do: "update-node", node, fields } });
}

function planNewNode(plan: Planning, node: NodeWork): void {
  const { after, intent } = node;
  if (after === undefined || intent === undefined) return;
  const action = nodeActionOf(node, "create", onlyInIntent, "none", nodeChanges(after), false);
  if (!announce(plan, node, action, nodeObstacles(node, plan.comparison.rules, node.template, isManaged(plan)))) return;
  plan.builder.run("create-node", action, {
    op: "create",
    disruption: "none",
    changes: action.changes,
    step: { do: "create-node", node: after },
  });
  runStart(plan, node, action);
}

function planRecreate(plan: Planning, node: NodeWork): void {
  const { after, before, intent, cause, key } = node;
  if (after === undefined || before === undefined) return;
  const { declared, power } = powerChanges(plan, node);
  const template: Change[] =
    before.template === after.template ? [] : [{ field: "template", before: before.template, after: after.template }];
  const changes = [...template, ...node.differences.flatMap((one) => one.changes), ...declared, ...power];
  const reason: Reason =
    cause === undefined
      ? { code: "recreate_needed", text: `${differs(changes).text} and cannot change in place` }
      : { code: "link_change", text: `its template takes another link only when recreated, for ${cause}` };
  const action = nodeActionOf(node, "replace", reason, node.level, changes, false);
  const obstacles =
    intent === undefined ? [] : nodeObstacles(node, plan.comparison.rules, plan.templates.get(intent.template), isManaged(plan));
  if (!announce(plan, node, action, obstacles)) return;
  runStop(plan, node, action);
  plan.builder.run("delete-node", action, { op: "delete", disruption: node.level, step: { do: "delete-node", node: key } });
  plan.builder.run("create-node", action, { op: "create", disruption: node.level, changes, step: { do: "create-node", node: after } });
  runStart(plan, node, action);
}

function nodeActionOf(
  node: NodeWork,
  op: PlanOp,
  reason: Action["reason"],
  disruption: Disruption,
  changes: readonly Change[],
  prune: boolean,
): Action {
  return defined<Action>({
    id: nodeAction(node),
    op,
    kind: "node",
    key: node.key,
    native_id: node.observed?.id,
    name: (node.after ?? node.before)?.name,
    reason,
    disruption,
    affected: undefined,
    ...(disruption === "none" ? { affects: [] } : affectedByNode(node)),
    changes,
    prune,
    line: undefined,
  });
}

function runPower(plan: Planning, node: NodeWork, owner: Action): void {
  plan.powered.add(node);
  runStop(plan, node, owner);
  runStart(plan, node, owner);
}

function runStop(plan: Planning, node: NodeWork, action: Action): void {
  if (!goesDown(node)) return;
  const about = { kind: "node" as const, key: node.key, native_id: node.observed?.id, name: node.observed?.name };
  const reason: Reason = node.wantUp ? { code: "stopped_for_change", text: `stopped for ${action.id}` } : action.reason;
  plan.builder.run("stop", action, { op: "stop", disruption: node.level, about, reason, step: { do: "stop", node: node.key, mode: 3 } });
}

function runStart(plan: Planning, node: NodeWork, action: Action): void {
  const restarted = goesDown(node);
  if (!node.wantUp || (node.up && !restarted)) return;
  const about = { kind: "node" as const, key: node.key, native_id: node.observed?.id, name: node.after?.name };
  const reason: Reason = restarted ? { code: "started_again", text: "it ran before" } : action.reason;
  const disruption = restarted || node.need === "recreate" ? node.level : "none";
  plan.builder.run("start", action, { op: "start", disruption, about, reason, step: { do: "start", node: node.key } });
}

/** Returns `node` with some fields of `other`. */
function withFields(node: LabNode, other: LabNode, differences: readonly FieldDifference[]): LabNode {
  if (differences.length === 0) return node;
  const mixed: Record<string, unknown> = { ...node };
  for (const { field } of differences) mixed[field] = other[field];
  return defined<LabNode>(mixed as unknown as LabNode);
}
