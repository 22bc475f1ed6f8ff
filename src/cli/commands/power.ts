import { nodeKey } from "../../base/node-key.ts";
import type { ResultOf } from "../../client/index.ts";
import type { Arguments } from "../command/arguments.ts";
import { approve } from "../command/ask.ts";
import {
  type Command,
  type ExitCode,
  labFlag,
  nodeFlag,
  nodeOperands,
  noWaitFlag,
  timeoutFlag,
  topoFlag,
  waitTimeoutFlag,
  yesFlag,
} from "../command/command.ts";
import type { Context } from "../command/context.ts";
import { UsageError } from "../command/usage-error.ts";
import { runChange } from "../parts/change.ts";
import { labAtStake } from "../parts/lab-at-stake.ts";
import { namedNodes, payloadNodes } from "../parts/named-nodes.ts";
import { refuseUnknown, waitAndReport } from "../parts/node-troubles.ts";
import { nodesThatShouldRun } from "../parts/wait-for-nodes.ts";
import { shortList, wordList } from "../show/table.ts";

const modes = ["graceful", "poweroff", "hibernate", "auto"];
const waitDetails =
  "Waits until these nodes are up. Exit code 1: a node has failed or is not ready in time. The last lines of a failed node's log are on stderr.";
const modeFlag = { long: "mode", value: "MODE", choices: modes, summary: "How to stop; default auto: graceful, then poweroff" };

export const start: Command = {
  name: "start",
  summary: "Start all nodes of a lab, or only some",
  ...nodeOperands,
  details: waitDetails,
  flags: [topoFlag, labFlag, nodeFlag, noWaitFlag, waitTimeoutFlag],
  example: "labwright start r1 r2",
  run: async (context, args) => {
    const nodes = args.list("node");
    return await ready(context, args, nodes, await power(context, args, "start", nodes));
  },
};

export const restart: Command = {
  name: "restart",
  summary: "Stop nodes and start them again; without names all nodes that are not stopped",
  ...nodeOperands,
  details: waitDetails,
  flags: [topoFlag, labFlag, nodeFlag, modeFlag, noWaitFlag, waitTimeoutFlag],
  example: "labwright restart r1",
  run: async (context, args) => {
    const project = await context.project();
    const status = await (await context.client()).getProjectStatus({ ...project.selector, ...namedNodes(args) });
    const given = args.list("node");
    if (given.length === 0) refuseUnknown(project, status, "restarted");
    const nodes = given.length > 0 ? given : nodesThatShouldRun(status).map(nodeKey);
    if (nodes.length === 0) throw new UsageError(`no node of ${status.lab} is running`, "labwright start starts them");
    const stopped = await power(context, args, "stop", nodes, { followed: true });
    if (exitCode(stopped) !== 0) return exitCode(stopped);
    return await ready(context, args, nodes, await power(context, args, "start", nodes));
  },
};

export const stop: Command = {
  name: "stop",
  summary: "Stop all nodes of a lab, or only some",
  ...nodeOperands,
  flags: [topoFlag, labFlag, nodeFlag, modeFlag, timeoutFlag],
  example: "labwright stop r1 --mode poweroff",
  run: async (context, args) => exitCode(await power(context, args, "stop", args.list("node"))),
};

export const wipe: Command = {
  name: "wipe",
  summary: "Reset nodes: stop them and delete their disks",
  ...nodeOperands,
  flags: [topoFlag, labFlag, nodeFlag, yesFlag, timeoutFlag],
  example: "labwright wipe r1 --yes",
  run: async (context, args) => {
    const nodes = args.list("node");
    const question = async () =>
      `Delete the disks of ${nodes.length === 0 ? "all nodes" : nodes.join(", ")} of ${await labAtStake(context)}? Running nodes are stopped.`;
    if (!(await approve(context.terminal, question, args.has("yes")))) return 1;
    return exitCode(await power(context, args, "wipe", nodes));
  },
};

type BulkResult = ResultOf<"execProject">;

/**
 * Runs an action on nodes.
 * @param nodes empty: all nodes
 * @param options.followed another action follows; --format json prints only the result of that action
 */
async function power(
  context: Context,
  args: Arguments,
  action: "start" | "stop" | "wipe",
  nodes: readonly string[],
  options: { readonly followed?: boolean } = {},
): Promise<BulkResult> {
  const { selector, title } = await context.project();
  const mode = args.text("mode");
  const data = await runChange(
    context,
    "execProject",
    {
      ...selector,
      action,
      ...payloadNodes(nodes),
      ...(mode === undefined || action !== "stop" ? {} : { stopmode: modes.indexOf(mode) }),
    },
    { what: `${action} ${nodes.length === 0 ? title : nodes.join(", ")}`, timeoutMs: args.milliseconds("timeout") },
  );
  if (options.followed !== true || !context.json) context.result(data, tally);
  const unknown = data.invalid > 0 ? await nameUnknown(context, nodes) : [];
  reportFailed(context, action, data, unknown);
  return data;
}

/** The maximum of failed nodes with a reason. Only the names of the others are shown. */
const maxReasons = 10;

/** Reports failed nodes on stderr, each with its reason. Older services report only their number. */
function reportFailed({ terminal }: Context, action: string, { nodes = [], failed }: BulkResult, unknown: readonly string[]): void {
  const broken = nodes.filter(({ ok, node }) => !ok && !unknown.includes(node));
  for (const { node, message } of broken.slice(0, maxReasons)) {
    // The message may begin with the action already.
    const named = message?.startsWith(`${action} node ${node}: `) === true ? message : `${action} ${node}: ${message ?? "failed"}`;
    terminal.complain(`${terminal.paint("red", "error:")} ${named}`);
  }
  const others = broken.slice(maxReasons).map(({ node }) => node);
  if (others.length > 0) terminal.complain(`  and ${others.length} more: ${shortList(others)}`);
  if (failed > 0 && broken.length === 0) terminal.note("labwright status shows the state of the nodes");
}

function exitCode({ failed, invalid }: BulkResult): ExitCode {
  return failed + invalid > 0 ? 1 : 0;
}

/** Waits for the started nodes and reports failed ones; with --no-wait it returns at once. @param nodes empty: all nodes */
async function ready(context: Context, args: Arguments, nodes: readonly string[], started: BulkResult): Promise<ExitCode> {
  if (args.has("no-wait") || started.invalid > 0) return exitCode(started);
  const project = await context.project();
  const { up } = await waitAndReport(
    context,
    { ...project, selector: { ...project.selector, ...payloadNodes(nodes) } },
    args.milliseconds("timeout"),
  );
  return up ? exitCode(started) : 1;
}

/** Reports the names of requested nodes that the lab does not have, if the lab's nodes can be read. The service's answer contains only their number. */
async function nameUnknown(context: Context, nodes: readonly string[]): Promise<readonly string[]> {
  const { selector } = await context.project();
  const { lab, live } = await (await context.client()).getProjectStatus(selector);
  if (live?.nodes === undefined) return [];
  const known = new Set(live.nodes.map(nodeKey));
  const unknown = nodes.filter((node) => !known.has(node));
  context.terminal.note(`${lab} has no node ${wordList(unknown)}; it has ${shortList([...known], 20)}`);
  for (const row of live.nodes)
    if (unknown.includes(row.name))
      context.terminal.note(`${row.name} is the name of ${nodeKey(row)} on the host: use --node ${nodeKey(row)}`);
  return unknown;
}

function tally({ requested, warnings: _told, nodes: _each, ...outcomes }: ResultOf<"execProject">): string {
  const parts = Object.entries(outcomes)
    .filter(([, count]) => count > 0)
    .map(([outcome, count]) => `${count} ${outcome.replace("_", " ")}`);
  return `${requested} node${requested === 1 ? "" : "s"}: ${parts.join(", ") || "nothing to do"}`;
}
