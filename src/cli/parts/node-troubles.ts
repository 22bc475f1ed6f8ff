import { exitCodeText } from "../../base/names/exit-code.ts";
import { inNaturalOrder } from "../../base/natural-order.ts";
import { nodeKey } from "../../base/node-key.ts";
import { type LabwrightClient, LabwrightError } from "../../client/index.ts";
import type { Context } from "../command/context.ts";
import { labFlags, type Project } from "../command/project.ts";
import { UsageError } from "../command/usage-error.ts";
import { isUp, type LiveNode, type Status, unreadText } from "../show/show-status.ts";
import { duration, shortList } from "../show/table.ts";
import { hasFailed, isAllUp, maybeRunning, nodesThatShouldRun, waitForNodes } from "./wait-for-nodes.ts";

/** The maximum of failed nodes with log lines. Only the names of the others are shown. */
const maxNodes = 5;
const maxLines = 8;
const maxColumns = 200;

/**
 * Waits for the nodes that should run. Reports on stderr the nodes that have failed or are not ready in time, with the last lines of their logs and the next
 * command to run. Returns the status and whether all nodes are up.
 */
export async function waitAndReport(
  context: Context,
  project: Project,
  limitMs: number | undefined,
): Promise<{ readonly status: Status; readonly up: boolean }> {
  const began = Date.now();
  const status = await waitForNodes(context, project, limitMs);
  const up = isAllUp(status);
  if (!up) await reportTroubles(context, project, status, { waitedMs: Date.now() - began });
  return { status, up };
}

/**
 * For `catch` of a change that starts nodes: reports the failed nodes, which may be why other nodes were not started, and throws the error again.
 */
export function reportingFailures(context: Context, project: Project): (error: unknown) => Promise<never> {
  return async (error) => {
    const failed = error instanceof LabwrightError && error.status !== 0 ? error.data?.failed : undefined;
    const isStart = (step: unknown) => typeof step === "object" && step !== null && (step as { readonly op?: unknown }).op === "start";
    if (!Array.isArray(failed) || !failed.some(isStart)) throw error;
    const client = await context.client();
    // The error of the change is the one to report, also if the status cannot be read.
    const status = await client.getProjectStatus(project.selector).catch((unread: unknown) => {
      throw unread instanceof LabwrightError ? error : unread;
    });
    await reportTroubles(context, project, status);
    throw error;
  };
}

/** @param options.waitedMs absent: only failed nodes are reported, not nodes that are still starting */
export async function reportTroubles(
  context: Context,
  project: Project,
  status: Status,
  options: { readonly waitedMs?: number } = {},
): Promise<void> {
  const { terminal } = context;
  const write = terminal.complain;
  const head = terminal.paint("red", "error:");
  const nodes = inNaturalOrder(nodesThatShouldRun(status), nodeKey);
  const failed = nodes.filter(hasFailed);
  if (failed.length > 0) {
    const names = failed.map((node) => `${nodeKey(node)}${node.exit_code === undefined ? "" : ` (${exitCodeText(node.exit_code)})`}`);
    write(`${head} ${failed.length} of ${counted(nodes.length)} failed: ${shortList(names)}`);
    const client = await context.client();
    // Some hosts do not store the output of nodes.
    const { features } = await client.getCapabilities();
    const logged = features?.consoleLog === true ? failed : [];
    for (const node of logged.slice(0, maxNodes)) write(await lastLogLines(client, project, nodeKey(node)));
    if (logged.length > maxNodes) write(`  the last lines of the others: labwright logs ${labFlags(project)} NODE`);
    for (const hint of failureHints(project, failed)) write(`  hint: ${hint}`);
  }
  if (options.waitedMs === undefined) return;
  if (status.live?.available === false) write(`${head} ${unreadText(status.live)}`);
  const unknown = maybeRunning(status);
  if (unknown.length > 0) {
    write(`${head} whether ${shortList(unknown.map(nodeKey))} run${unknown.length === 1 ? "s" : ""} is unknown`);
    write(`  hint: ${unknownHint(project, unknown)}`);
  }
  const pending = nodes.filter((node) => !isUp(node) && !hasFailed(node));
  if (pending.length === 0) return;
  const names = pending.map((node) => `${nodeKey(node)} (${stateOf(node)})`);
  write(`${head} ${pending.length} of ${counted(nodes.length)} not ready after ${duration(options.waitedMs)}: ${shortList(names)}`);
  write(
    `  hint: labwright status ${labFlags(project)} --watch shows their progress; --timeout SECONDS waits longer, --no-wait does not wait`,
  );
}

/** Throws UsageError if it is unknown whether nodes run: a command for all running nodes would leave them out without a word. */
export function refuseUnknown(project: Project, status: Status, what: string): void {
  const unknown = maybeRunning(status);
  if (unknown.length === 0) return;
  const names = shortList(unknown.map(nodeKey));
  throw new UsageError(
    `whether ${names} run${unknown.length === 1 ? "s" : ""} is unknown: nothing was ${what}. Name the nodes, to leave these out`,
    unknownHint(project, unknown),
  );
}

/** Without a clash of numbers, a machine of the fleet does not answer. */
function unknownHint(project: Project, unknown: readonly LiveNode[]): string {
  const machines = [...new Set(unknown.flatMap(({ clash, machine }) => (clash === undefined && machine !== undefined ? [machine] : [])))];
  if (machines.length > 0) return `${shortList(machines)} ${machines.length === 1 ? "does" : "do"} not answer: labwright machines list`;
  return `labwright status ${labFlags(project)} names the lab that may run under the same number; labwright stop on the one that should not run`;
}

function stateOf({ status, not_ready: reason }: LiveNode): string {
  if (status !== "running") return status;
  return reason === undefined ? "running, not ready" : `running, not ready: ${reason}`;
}

/** The exit code of SIGKILL. */
const killedExit = 137;

function failureHints(project: Project, failed: readonly LiveNode[]): readonly string[] {
  const stuck = failed.filter((node) => node.stuck === true).map(nodeKey);
  const lost = failed.filter((node) => node.lost !== undefined);
  const killed = failed.filter((node) => node.lost === undefined && node.exit_code === killedExit);
  const wipe = `labwright wipe ${labFlags(project)} --node ${stuck.join(",")} removes the remains of an interrupted start, and deletes the disk`;
  return [
    ...(stuck.length === 0 ? [] : [`${wipe}; then labwright start`]),
    ...(lost.length === 0
      ? []
      : [
          `${shortList(lost.map(nodeKey))} ended with all of the lab, unasked: labwright resume ${labFlags(project)} starts ${lost.length === 1 ? "it" : "them"} again`,
        ]),
    ...(killed.length === 0
      ? []
      : [
          `SIGKILL of ${shortList(killed.map(nodeKey))} is mostly the kernel's, for memory: a higher ram of the node, or a program that needs less, helps`,
        ]),
    ...(stuck.length + lost.length === failed.length
      ? []
      : ["fix the cause; then labwright up or labwright apply starts the failed nodes again, as does labwright start"]),
  ];
}

async function lastLogLines(client: LabwrightClient, project: Project, node: string): Promise<string> {
  const more = `labwright logs ${labFlags(project)} ${node}`;
  try {
    const { output } = await client.readConsoleLog({ ...project.selector, node });
    const lines = output.split(/\r?\n/).filter((line) => line.trim() !== "");
    if (lines.length === 0) return `  ${node}: its log is empty`;
    return [
      `  ${node}, last lines of its log (all: ${more}):`,
      ...lines.slice(-maxLines).map((line) => `    ${line.slice(0, maxColumns)}`),
    ].join("\n");
  } catch (error) {
    if (!(error instanceof LabwrightError)) throw error;
    return `  ${node}: its log cannot be read: ${error.message}`;
  }
}

function counted(count: number): string {
  return `${count} node${count === 1 ? "" : "s"}`;
}
