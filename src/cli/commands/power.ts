import type { ResultOf } from "../../client/index.ts";
import type { Arguments } from "../arguments.ts";
import { approve } from "../ask.ts";
import { runChange } from "../change.ts";
import { type Command, type ExitCode, labFlag, nodeFlag, timeoutFlag, topoFlag, yesFlag } from "../command.ts";
import type { Context } from "../context.ts";
import { labAtStake } from "../lab-at-stake.ts";
import { namedNodes } from "../named-nodes.ts";
import { wordList } from "../table.ts";

const modes = ["graceful", "poweroff", "hibernate", "auto"];
const modeFlag = { long: "mode", value: "MODE", choices: modes, summary: "How to stop; default auto: graceful, then poweroff" };

export const start: Command = {
  name: "start",
  summary: "Start nodes; all of them unless --node",
  flags: [topoFlag, labFlag, nodeFlag, timeoutFlag],
  example: "labwright start --node r1,r2",
  run: async (context, args) => await power(context, args, "start"),
};

export const stop: Command = {
  name: "stop",
  summary: "Stop nodes; all of them unless --node",
  flags: [topoFlag, labFlag, nodeFlag, modeFlag, timeoutFlag],
  example: "labwright stop --node r1 --mode poweroff",
  run: async (context, args) => await power(context, args, "stop"),
};

export const wipe: Command = {
  name: "wipe",
  summary: "Put nodes back to their first state: their disks are deleted",
  flags: [topoFlag, labFlag, nodeFlag, yesFlag, timeoutFlag],
  example: "labwright wipe --node r1 --yes",
  run: async (context, args) => {
    const nodes = args.list("node");
    const question = async () =>
      `Stop ${nodes.length === 0 ? "all nodes" : nodes.join(", ")} of ${await labAtStake(context)} and delete the disks?`;
    if (!(await approve(context.terminal, question, args.has("yes")))) return 1;
    return await power(context, args, "wipe");
  },
};

async function power(context: Context, args: Arguments, action: "start" | "stop" | "wipe"): Promise<ExitCode> {
  const { selector, title } = await context.project();
  const nodes = args.list("node");
  const mode = args.text("mode");
  const data = await runChange(
    context,
    "execProject",
    {
      ...selector,
      action,
      ...namedNodes(args),
      ...(mode === undefined ? {} : { stopmode: modes.indexOf(mode) }),
    },
    { what: `${action} ${nodes.length === 0 ? title : nodes.join(", ")}`, timeoutMs: args.milliseconds("timeout") },
  );
  context.result(data, tally);
  if (data.invalid > 0) await nameUnknown(context, nodes);
  if (data.failed > 0) context.terminal.note("labwright status shows which failed, labwright logs NODE what one said last");
  return data.failed + data.invalid > 0 ? 1 : 0;
}

/** The tally only counts nodes that the lab has not. */
async function nameUnknown(context: Context, nodes: readonly string[]): Promise<void> {
  const { selector } = await context.project();
  const { lab, live } = await (await context.client()).getProjectStatus(selector);
  const known = new Set((live?.nodes ?? []).map(({ node, name }) => node ?? name));
  const unknown = nodes.filter((node) => !known.has(node));
  if (live?.nodes !== undefined) context.terminal.note(`${lab} has no node ${wordList(unknown)}; it has ${[...known].join(", ")}`);
}

function tally({ requested, warnings: _told, ...outcomes }: ResultOf<"execProject">): string {
  const parts = Object.entries(outcomes)
    .filter(([, count]) => count > 0)
    .map(([outcome, count]) => `${count} ${outcome.replace("_", " ")}`);
  return `${requested} node${requested === 1 ? "" : "s"}: ${parts.join(", ") || "nothing to do"}`;
}
