import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../../contract/errors.ts";
import type { Operation } from "../../engine/model/plan.ts";
import { maskText } from "../../engine/show/secret-words.ts";
import type { Applied, HostSession, NativeIds } from "../../hosts/host.ts";
import type { Endpoint, Lab } from "../../intent/lab/lab.ts";
import type { Dependency, NodeBoot } from "../../intent/lab/node-boot.ts";
import type { ReadyConditions } from "./ready-conditions.ts";

/** The longest wait for nodes on which others depend, ms. It begins again with each node that is started. */
const patienceMs = 120_000;
const pollMs = 200;

/** The parts that start nodes in the order of `depends-on`. */
export interface StartOrder {
  readonly boots: readonly NodeBoot[];
  /** For the reason of a wait that does not end: a link has no carrier before both of its nodes run. */
  readonly links: Lab["links"];
  readonly conditions: ReadyConditions;
  readonly host: HostSession;
  readonly path: string;
}

/** The change that starts nodes. */
export interface StartingChange {
  readonly signal: AbortSignal;
  /** Reports the start that waits and its reason, for people; undefined: none waits. */
  waits(text: string | undefined): void;
}

/** A start that waits. */
interface Waiting {
  readonly operation: Operation;
  readonly dependsOn: readonly Dependency[];
}

/**
 * Applies the steps, and each start only when the nodes that it depends on are in their states. Without such starts, this is one call of `apply`. Throws
 * host_error with data.failures for nodes that were not started, after the others were.
 */
export async function applyInOrder(
  operations: readonly Operation[],
  order: StartOrder | undefined,
  ids: NativeIds,
  change: StartingChange,
  apply: (operations: readonly Operation[], ids: NativeIds) => Promise<Applied>,
): Promise<Applied> {
  const dependsOn = new Map(order?.boots.map((boot) => [boot.node, boot.dependsOn]));
  const waiting = new Map<string, Waiting>();
  for (const operation of operations) {
    const needed = operation.step.do === "start" ? (dependsOn.get(operation.key) ?? []) : [];
    if (needed.length > 0) waiting.set(operation.key, { operation, dependsOn: needed });
  }
  if (order === undefined || waiting.size === 0) return apply(operations, ids);
  const started = new Set(operations.flatMap(({ step, key }) => (step.do === "start" ? [key] : [])));
  const first = operations.filter((operation) => waiting.get(operation.key)?.operation !== operation);
  let applied: Applied = first.length > 0 ? await apply(first, ids) : { ids };
  const failures: { readonly id: string; readonly message: string }[] = [];
  let deadline = performance.now() + patienceMs;
  let carrier = "";
  while (waiting.size > 0 && !change.signal.aborted) {
    const states = await statesOf(order, applied.ids);
    const isOver = performance.now() > deadline;
    const due: Operation[] = [];
    change.waits(waitText(waiting, states));
    if (isOver) carrier = carrierText(order.links, new Set(waiting.keys()));
    for (const [key, { operation, dependsOn: needed }] of waiting) {
      const open = needed.filter((one) => !isMet(states.get(one.node), one));
      const hopeless = open.find(({ node }) => !waiting.has(node) && (isOver || isLost(states.get(node), started.has(node))));
      if (open.length === 0) due.push(operation);
      else if (hopeless !== undefined) failures.push({ id: operation.id, message: reasonOf(key, hopeless, states.get(hopeless.node)) });
      else continue;
      waiting.delete(key);
      if (hopeless !== undefined) started.delete(key);
    }
    if (due.length > 0) {
      const next = await apply(due, applied.ids);
      applied = { ...applied, ...next };
      deadline = performance.now() + patienceMs;
    } else if (waiting.size > 0) await delay(pollMs, undefined, { signal: change.signal }).catch(() => undefined);
  }
  change.waits(undefined);
  if (failures.length === 0) return applied;
  const message = failures.map((one) => one.message).join("; ") + carrier;
  throw new Failure("host_error", message, { data: { failures, host: { message } } });
}

interface NodeUp {
  readonly status: string;
  readonly ready: boolean;
  readonly reason?: string;
}

function isMet(up: NodeUp | undefined, { state }: Dependency): boolean {
  return up?.status === "running" && (state === "running" || up.ready);
}

/** A node that this change starts may not have begun yet. */
function isLost(up: NodeUp | undefined, isStarted: boolean): boolean {
  if (up === undefined) return !isStarted;
  return up.status === "failed" || (!isStarted && (up.status === "stopped" || up.status === "suspended" || up.status === "unknown"));
}

/** Returns the start whose wait holds up the others, with its reason. */
function waitText(waiting: ReadonlyMap<string, Waiting>, states: ReadonlyMap<string, NodeUp>): string | undefined {
  for (const [key, { dependsOn }] of waiting) {
    const open = dependsOn.find((one) => !waiting.has(one.node) && !isMet(states.get(one.node), one));
    if (open === undefined) continue;
    const { status, reason } = states.get(open.node) ?? {};
    const now = status !== "running" ? `it is ${status ?? "not on the host"}` : reason === undefined ? "it is not ready" : maskText(reason);
    const more = waiting.size === 1 ? "" : `; ${waiting.size - 1} more ${waiting.size === 2 ? "start waits" : "starts wait"}`;
    return `${key} waits for ${open.node}: ${now}${more}`;
  }
  return undefined;
}

/** Maximum number of links that an error names. */
const maxLinks = 4;

/** Returns the end of an error text: which links have no carrier because a node is not started. Empty if there are none. */
function carrierText(links: Lab["links"], unstarted: ReadonlySet<string>): string {
  const isUnstarted = (end: Endpoint) => "node" in end && unstarted.has(end.node);
  const down = links.filter(({ endpoints: [a, b] }) => isUnstarted(a) !== isUnstarted(b)).map(({ key }) => key);
  if (down.length === 0) return "";
  const more = down.length > maxLinks ? ` and ${down.length - maxLinks} more` : "";
  return `. Links to nodes that are not started have no carrier: ${down.slice(0, maxLinks).join(", ")}${more}. A condition of ready that needs one of them cannot pass`;
}

/** The reason is an error of the change, which jobs and logs store: a condition may quote a secret of the intent. */
function reasonOf(key: string, { node, state }: Dependency, up: NodeUp | undefined): string {
  const now =
    up === undefined
      ? "is not on the host"
      : up.status !== "running"
        ? `is ${up.status}`
        : `is not ${state} after ${patienceMs / 1000} s${up.reason === undefined ? "" : `: ${maskText(up.reason)}`}`;
  return `${key} was not started: ${node}, which it depends on, ${now}`;
}

async function statesOf({ boots, conditions, host, path }: StartOrder, ids: NativeIds): Promise<ReadonlyMap<string, NodeUp>> {
  const { nodes } = await host.status(path);
  const rows = new Map(nodes.map((row) => [row.id, row]));
  const needed = new Set(boots.flatMap(({ dependsOn }) => dependsOn.flatMap(({ node, state }) => (state === "ready" ? [node] : []))));
  const checked = boots.flatMap((boot) => {
    const row = rows.get(ids.nodes[boot.node] ?? "");
    const isUp = row?.status === "running" && row.ready !== false;
    return isUp && boot.ready.length > 0 && needed.has(boot.node) ? [{ row, boot }] : [];
  });
  const missing = host.processes === undefined ? new Map<string, string>() : await conditions.missing(host, path, checked, 1000);
  return new Map(
    Object.entries(ids.nodes).flatMap(([key, id]): [string, NodeUp][] => {
      const row = rows.get(id);
      if (row === undefined) return [];
      const reason = missing.get(id) ?? row.not_ready;
      return [[key, { status: row.status, ready: row.ready !== false && !missing.has(id), ...(reason !== undefined && { reason }) }]];
    }),
  );
}
