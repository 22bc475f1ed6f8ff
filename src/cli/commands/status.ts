import { setTimeout as pause } from "node:timers/promises";
import { nodeKey } from "../../base/node-key.ts";
import { type LabwrightClient, LabwrightError } from "../../client/index.ts";
import type { Arguments } from "../command/arguments.ts";
import { type Command, type ExitCode, labFlag, nodeFlag, nodeOperands, topoFlag } from "../command/command.ts";
import type { Context } from "../command/context.ts";
import type { Project } from "../command/project.ts";
import { namedNodes } from "../parts/named-nodes.ts";
import { reportTroubles } from "../parts/node-troubles.ts";
import { hasFailed, nodesThatShouldRun } from "../parts/wait-for-nodes.ts";
import { type InterfacesShown, noInterfaces, showSource, showStatus } from "../show/show-status.ts";

/** The interval of --watch, ms. */
const interval = 1000;

/** Returns whether an error is temporary: the service is stopped, starting or unreachable. */
function isTemporary(error: unknown): error is LabwrightError {
  if (!(error instanceof LabwrightError)) return false;
  if (error.status === 0) return error.code === "host_unreachable" || error.code === "host_timeout";
  return error.status === 429 || error.status >= 502;
}

export const status: Command = {
  name: "status",
  summary: "Show the state of a lab's nodes and links",
  ...nodeOperands,
  details:
    "Exit code 1: a node has failed, the lab is not on the host, or the host does not report the state of the nodes. The last lines of a failed node's log are\n" +
    "on stderr. --watch ends with exit code 0.",
  flags: [
    topoFlag,
    labFlag,
    nodeFlag,
    { long: "report", summary: "Show what the import of the lab kept, mapped and dropped" },
    { long: "watch", short: "w", summary: "Show changes until Ctrl-C; with --format json each line is one object" },
  ],
  example: "labwright status -t campus.lw.yml --watch",
  run: async (context, args) => {
    const project = await context.project();
    if (args.has("report")) return await showReport(context, project);
    return args.has("watch") ? await watch(context, project, args) : await showOnce(context, project, args);
  },
};

async function showReport(context: Context, project: Project): Promise<ExitCode> {
  const client = await context.client();
  const data = await client.getProjectStatus({ ...project.selector, report: true });
  context.result(data, ({ lab, source }) => showSource(lab, source));
  return 0;
}

async function showOnce(context: Context, project: Project, args: Arguments): Promise<ExitCode> {
  const client = await context.client();
  const data = await client.getProjectStatus({ ...project.selector, ...namedNodes(args) });
  const interfaces = context.json ? noInterfaces : await interfacesOf(client, project.selector);
  context.result(data, (shown) => showStatus(context.terminal.paint, shown, interfaces));
  if (nodesThatShouldRun(data).some(hasFailed)) {
    await reportTroubles(context, project, data);
    return 1;
  }
  const isMissing = !data.exists && data.operation === undefined;
  return isMissing || data.live?.available === false ? 1 : 0;
}

async function watch(context: Context, project: Project, args: Arguments): Promise<ExitCode> {
  const selector = { ...project.selector, ...namedNodes(args) };
  const client = await context.client();
  const { terminal } = context;
  const ended = new AbortController();
  const end = () => ended.abort();
  process.once("SIGINT", end).once("SIGTERM", end);
  let before = "";
  let away = false;
  try {
    while (!ended.signal.aborted) {
      const data = await client.getProjectStatus(selector, { signal: ended.signal }).catch((error: unknown) => {
        if (ended.signal.aborted || !isTemporary(error)) throw error;
        if (!away) terminal.note(`${error.message}; trying again`);
        return undefined;
      });
      if (away && data !== undefined) terminal.note("the service answers again");
      away = data === undefined;
      if (data === undefined) {
        await pause(interval, undefined, { signal: ended.signal });
        continue;
      }
      const now = context.json
        ? JSON.stringify(data)
        : terminal.spell(showStatus(terminal.paint, data, await interfacesOf(client, project.selector)));
      if (terminal.stdout.isTTY === true && !context.json) terminal.redraw(now);
      else if (now !== before) terminal.print(now);
      before = now;
      await pause(interval, undefined, { signal: ended.signal });
    }
  } catch (error) {
    if (!ended.signal.aborted) throw error;
  } finally {
    process.off("SIGINT", end).off("SIGTERM", end);
  }
  return 0;
}

/** Returns what the status shows of interfaces. Empty if the lab cannot be read now, which the status reports. */
async function interfacesOf(client: LabwrightClient, selector: object): Promise<InterfacesShown> {
  try {
    const { nodes } = await client.inspectProject(selector);
    return {
      suspended: nodes.flatMap((node) => node.interfaces.flatMap((one) => (one.suspended ? [`${nodeKey(node)}:${one.name}`] : []))),
      addresses: new Map(
        nodes.map((node) => [
          nodeKey(node),
          [...(node.management === undefined ? [] : [node.management]), ...node.interfaces.flatMap(({ addresses = [] }) => addresses)],
        ]),
      ),
    };
  } catch (error) {
    if (error instanceof LabwrightError) return noInterfaces;
    throw error;
  }
}
