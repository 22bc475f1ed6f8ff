import { setTimeout as pause } from "node:timers/promises";
import { nodeKey } from "../../base/node-key.ts";
import type { Context } from "../command/context.ts";
import type { Project } from "../command/project.ts";
import { Progress } from "../show/progress.ts";
import { isUp, type LiveNode, type Status } from "../show/show-status.ts";
import { payloadNodes } from "./named-nodes.ts";

const pollMs = 300;
const defaultWaitMs = 120_000;
/** The wait for the other nodes after one has failed, ms, so that one report names all nodes that fail together. */
const afterFailureMs = 3_000;

/** The nodes to wait for, and their state. Default: all nodes that should run, until they are ready. */
export interface WaitFor {
  readonly nodes?: readonly string[];
  readonly state?: "running" | "ready";
}

/** Polls until all nodes that should run are up, a node has failed, or the time is over. Returns the last status. */
export async function waitForNodes(
  context: Context,
  { selector, title }: Project,
  limitMs = defaultWaitMs,
  { nodes: named, state = "ready" }: WaitFor = {},
): Promise<Status> {
  const isThere = (node: LiveNode) => (state === "ready" ? isUp(node) : node.status === "running");
  const client = await context.client();
  using progress = new Progress(context.terminal, `waiting for ${title}`, { quiet: context.quiet });
  let until = Date.now() + limitMs;
  let failing = false;
  for (;;) {
    const status = await client.getProjectStatus({ ...selector, ...payloadNodes(named ?? []) });
    // A node that is named should run, even if it is stopped now: another command may start it.
    const nodes = named === undefined ? nodesThatShouldRun(status) : (status.live?.nodes ?? []);
    const pending = nodes.filter((node) => !isThere(node) && node.status !== "failed");
    if (status.live?.available !== false && pending.length === 0) return status;
    if (!failing && nodes.some(hasFailed)) {
      failing = true;
      until = Math.min(until, Date.now() + afterFailureMs);
    }
    if (Date.now() > until) return status;
    const names = pending.map(nodeKey);
    progress.update(
      `${nodes.length - pending.length} of ${nodes.length} nodes are up; waiting for ${names.slice(0, 4).join(", ")}${names.length > 4 ? " …" : ""}`,
    );
    await pause(pollMs);
  }
}

/** Returns the nodes that should run. This excludes nodes that are stopped on purpose (start: false, or stopped by a user) and nodes whose number another lab may use. */
export function nodesThatShouldRun(status: Status): readonly LiveNode[] {
  return (status.live?.nodes ?? []).filter((node) => !down.has(node.status));
}

const down: ReadonlySet<LiveNode["status"]> = new Set(["stopped", "suspended", "unknown"]);

export function hasFailed({ status }: LiveNode): boolean {
  return status === "failed";
}

/** Returns the nodes with an unknown state: a node with their number runs on the host, but it may belong to another lab. */
export function maybeRunning(status: Status): readonly LiveNode[] {
  return (status.live?.nodes ?? []).filter((node) => node.status === "unknown" && node.clash?.certain !== true);
}

export function isAllUp(status: Status): boolean {
  return status.live?.available === true && nodesThatShouldRun(status).every(isUp) && maybeRunning(status).length === 0;
}
