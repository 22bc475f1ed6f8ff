import Type, { type Static } from "typebox";
import { Failure } from "../../contract/errors.ts";
import type { JobStarted } from "../../contract/schemas/jobs.ts";
import type { BulkResult, ExecPayload, NodeOutcome } from "../../contract/schemas/project.ts";
import { list, optionalFlag, optionalText, text, word } from "../../contract/schemas/shapes.ts";
import { joinIds } from "../../engine/compare/join.ts";
import type { ObservedLab, ObservedNode, Power } from "../../engine/model/observed.ts";
import type { Operation, Step, StopMode } from "../../engine/model/plan.ts";
import type { NativeIds } from "../../hosts/host.ts";
import { applyOperations } from "../changes/apply.ts";
import type { ChangeKind } from "../changes/change-kind.ts";
import { fetchImages } from "../changes/fetch-images.ts";
import { refuseLocked, runChange } from "../changes/managed.ts";
import { withOwedStarts } from "../changes/owed-starts.ts";
import type { Caller, ChangeCall } from "../common/call.ts";
import { labNotFound } from "../common/refusals.ts";
import { addressChange } from "../context/address.ts";
import { chosenNodes, keyedNodes, nodeNotFound } from "../context/chosen-nodes.ts";
import type { ChangeParts, ClockPart, ConditionsPart, ConsolesPart, StorePart } from "../context/parts.ts";
import type { Target } from "../context/target.ts";
import type { Job } from "../jobs/jobs.ts";
import { withLeaseBegun } from "../leases/lease.ts";

export type PowerAction = "start" | "stop" | "wipe";

/** Journal request of an exec. */
const PowerRequest = Type.Object({
  action: word(["start", "stop", "wipe"]),
  /** IaC node keys; empty: all, unless they are listed. */
  nodes: list(text),
  /** The caller sent a list: an empty list means no node, and must not stop or wipe all nodes. */
  listed: optionalFlag,
  mode: Type.Unsafe<StopMode>(Type.Integer({ minimum: 0, maximum: 3 })),
  /** A node that must exist. */
  must: optionalText,
});
type PowerRequest = Static<typeof PowerRequest>;

export const powerKind: ChangeKind<typeof PowerRequest, BulkResult> = {
  operation: "execProject",
  version: 1,
  request: PowerRequest,
  run: ({ context, job, target }, request) => powerNodes(context, job, target, request),
};

type Tally = { -readonly [Key in Exclude<keyof BulkResult, "nodes" | "warnings">]: number };

/** Starts, stops or wipes nodes. Wiping stops a node that runs, and leaves it stopped. */
export async function execProject(
  context: ChangeParts,
  caller: Caller,
  payload: ExecPayload,
  call: ChangeCall,
): Promise<BulkResult | JobStarted> {
  const { action } = payload;
  if (action !== "start" && action !== "stop" && action !== "wipe") {
    throw new Failure("invalid_action", `action must be start, stop or wipe, not ${JSON.stringify(action)}`);
  }
  const mode = payload.stopmode ?? 3;
  if (mode !== 0 && mode !== 1 && mode !== 2 && mode !== 3) {
    throw new Failure("invalid_action", `stopmode must be ${([0, 1, 2] as const).map(modeText).join(", ")} or ${modeText(3)}`);
  }
  const target = await addressChange(context, caller, payload, "operate");
  const { features, stopModes } = await target.host.capabilities();
  if (action === "wipe" && !features.wipe) throw new Failure("unsupported", "the host cannot wipe nodes", { data: { feature: "wipe" } });
  if (action === "stop" && !stopModes.includes(mode)) {
    const feature = mode === 2 ? "hibernate" : "gracefulStop";
    const modes = stopModes.map(modeText).join(", ");
    throw new Failure("unsupported", `the host has no stop mode ${modeText(mode)}; it has ${modes}`, { data: { feature } });
  }
  const must = payload.node === "" ? undefined : payload.node;
  const request: PowerRequest = {
    action,
    nodes: [...(chosenNodes(payload) ?? [])],
    ...(payload.nodes && { listed: true }),
    mode,
    ...(must !== undefined && { must }),
  };
  return runChange(context, target, call, powerKind, request);
}

/** As in a request, with the word that people know: "3 (auto)". */
function modeText(mode: StopMode): string {
  return `${mode} (${["graceful", "poweroff", "hibernate", "auto"][mode]})`;
}

/** Safe to repeat: nodes in the requested state are not touched. */
export async function powerNodes(
  context: StorePart & ClockPart & ConsolesPart & ConditionsPart,
  job: Job,
  target: Target,
  request: PowerRequest,
): Promise<BulkResult> {
  const { action, mode, must } = request;
  const before = await target.host.observe(target.path);
  if (before === null) throw labNotFound(target.path);
  refuseLocked(before);
  const ids = joinIds(target.intent?.lab ?? null, before, target.ids);
  if (must !== undefined && ids.nodes[must] === undefined) throw nodeNotFound(target.path, must, keyedNodes(before, ids));
  const keys = request.listed === true || request.nodes.length > 0 ? request.nodes : Object.keys(ids.nodes);
  const tally: Tally = {
    requested: keys.length,
    started: 0,
    already_running: 0,
    already_starting: 0,
    stopped: 0,
    already_stopped: 0,
    wiped: 0,
    failed: 0,
    invalid: 0,
  };
  const nodes = new Map(before.nodes.map((node) => [node.id, node]));
  const asked = new Map<string, ObservedNode>();
  const unknown = new Set<string>();
  const operations: Operation[] = [];
  for (const key of keys) {
    const node = nodes.get(ids.nodes[key] ?? "");
    if (node === undefined) {
      tally.invalid += 1;
      unknown.add(key);
      continue;
    }
    const steps = stepsFor(action, key, node.power, mode, tally);
    if (steps.length > 0) asked.set(key, node);
    for (const step of steps) operations.push(operationOf(step, key, node, action));
  }
  // All stops come before all wipes, so that a driver can batch each kind.
  operations.sort((a, b) => rank(a) - rank(b));
  await fetchImages(target.host, job, operations, { intent: target.intent?.lab, observed: before, ids });
  const failed = await applyEach(context, job, target, operations, ids, mode);
  const after = operations.length === 0 ? before : await target.host.observe(target.path);
  for (const [key, message] of count(tally, action, asked, failed, after)) failed.set(key, message);
  await recordPower(context, target, action, { asked: asked.keys(), all: keys, failed: failed.keys() });
  for (const key of unknown) failed.set(key, nodeNotFound(target.path, key, keyedNodes(before, ids)).message);
  return { ...tally, nodes: keys.map((key) => outcomeOf(key, failed.get(key))) };
}

function outcomeOf(node: string, message: string | undefined): NodeOutcome {
  return message === undefined ? { node, ok: true } : { node, ok: false, message };
}

function stepsFor(action: PowerAction, key: string, power: Power, mode: StopMode, tally: Tally): readonly Step[] {
  const down = power === "stopped" || power === "failed";
  if (action === "start") {
    if (power === "running") tally.already_running += 1;
    else if (power === "starting") tally.already_starting += 1;
    else return [{ do: "start", node: key }];
    return [];
  }
  if (action === "stop") {
    const there = power === "stopped" || (power === "suspended" && mode === 2);
    if (!there) return [{ do: "stop", node: key, mode }];
    tally.already_stopped += 1;
    return [];
  }
  const wipe: Step = { do: "wipe", node: key };
  // The process with the number of an unknown node may belong to another lab: the driver ends only processes of this lab.
  return down || power === "unknown" ? [wipe] : [{ do: "stop", node: key, mode }, wipe];
}

/** Returns a power step that does not belong to a plan. */
export function operationOf(step: Step, key: string, node: Pick<ObservedNode, "id" | "name">, action: PowerAction): Operation {
  const op = step.do as PowerAction;
  return {
    id: `${op}:node:${key}`,
    of: `node:${key}`,
    op,
    kind: "node",
    key,
    native_id: node.id,
    name: node.name,
    reason: { code: "requested", text: op === action ? `${action} was asked for` : `stopped to ${action} it` },
    disruption: op === "stop" ? "stop" : "none",
    affects: [],
    changes: [],
    prune: false,
    step,
  };
}

function rank({ op }: Operation): number {
  return op === "stop" ? 0 : op === "wipe" ? 1 : 2;
}

/** Failures of single nodes. */
const nodeTroubles: ReadonlySet<string> = new Set(["host_error", "number_clash", "node_stuck"]);

/** Continues with the other nodes if a node fails. Returns the failure reasons by key. */
async function applyEach(
  context: ConsolesPart & ConditionsPart,
  job: Job,
  target: Target,
  operations: readonly Operation[],
  ids: NativeIds,
  stopMode: StopMode,
): Promise<Map<string, string>> {
  const failed = new Map<string, string>();
  const asked = new Set(operations.map(({ key }) => key));
  let left = operations;
  while (left.length > 0) {
    try {
      await applyOperations(context.consoles, target.host, job, {
        path: target.path,
        operations: left,
        ids,
        stopMode,
        order: {
          boots: target.intent?.lab.boots ?? [],
          links: target.intent?.lab.links ?? [],
          conditions: context.conditions,
          host: target.host,
          path: target.path,
        },
      });
      break;
    } catch (error) {
      const broken = error instanceof Failure && nodeTroubles.has(error.code) ? stepsOf(error, "failed") : [];
      const before = failed.size;
      for (const { id, message } of broken) {
        const key = left.find((operation) => operation.id === id)?.key;
        if (key !== undefined) failed.set(key, message ?? String(error instanceof Failure ? error.message : error));
      }
      if (failed.size === before) throw error;
      // The message of a refusal names the next step: if no node succeeded, it is the answer.
      if (error instanceof Failure && error.code !== "host_error" && failed.size === asked.size) throw error;
      const applied = new Set(stepsOf(error, "applied").map(({ id }) => id));
      left = left.filter((operation) => !failed.has(operation.key) && !applied.has(operation.id));
    }
  }
  return failed;
}

interface ListedStep {
  readonly id: string;
  readonly message?: string;
}

/** Returns the steps that a failed change lists as applied or failed. */
function stepsOf(error: unknown, list: "applied" | "failed"): readonly ListedStep[] {
  return error instanceof Failure ? ((error.data?.[list] as readonly ListedStep[] | undefined) ?? []) : [];
}

/** Compares the states on the host with the requested states. Returns the reasons of nodes that differ although no step failed. */
function count(
  tally: Tally,
  action: PowerAction,
  asked: ReadonlyMap<string, ObservedNode>,
  failed: ReadonlyMap<string, string>,
  after: ObservedLab | null,
): ReadonlyMap<string, string> {
  const powers = new Map((after?.nodes ?? []).map(({ id, power }) => [id, power]));
  const late = new Map<string, string>();
  for (const [key, { id }] of asked) {
    const power = powers.get(id);
    const up = power === "running" || power === "starting";
    if (failed.has(key)) tally.failed += 1;
    else if (power === undefined || (action === "start") !== up) {
      tally.failed += 1;
      late.set(key, power === undefined ? "it is not on the host any more" : `it is ${power} after the ${action}`);
    } else if (action === "start") tally.started += 1;
    else if (action === "stop") tally.stopped += 1;
    else tally.wiped += 1;
  }
  return late;
}

interface Powered {
  readonly asked: Iterable<string>;
  /** Includes nodes that already had the requested state: a node that the call names is no longer owed by an earlier change. */
  readonly all: readonly string[];
  readonly failed: Iterable<string>;
}

/** A node that should have been started and does not run is started by the next plan. */
async function recordPower(
  context: StorePart & ClockPart,
  target: Target,
  action: PowerAction,
  { asked, all, failed }: Powered,
): Promise<void> {
  const record = context.store.labs.get(target.path);
  if (record === undefined) return;
  const power = { ...record.power };
  for (const key of asked) power[key] = action === "start";
  const named = new Set(all);
  const owed = (record.owedStarts ?? []).filter((key) => !named.has(key));
  if (action === "start") owed.push(...failed);
  const now = context.clock.now();
  const begun = action === "start" ? withLeaseBegun(record, now) : record;
  await context.store.labs.put(withOwedStarts({ ...begun, power, updatedAt: now }, owed));
}
