import { inNaturalOrder } from "../../base/natural-order.ts";
import type { LabwrightClient, ResultOf } from "../../client/index.ts";
import { type Command, labFlag, nodeFlag, timeoutFlag, topoFlag } from "../command/command.ts";
import { UsageError } from "../command/usage-error.ts";
import { Progress } from "../show/progress.ts";
import { shortList } from "../show/table.ts";
import type { Terminal } from "../show/terminal.ts";

type Result = NonNullable<ResultOf<"execConsoleMany">["results"]>[number];

/** The service's own default for one command, milliseconds. */
const defaultTimeoutMs = 15_000;
/** What an answer may take on top of the commands themselves. */
const graceMs = 10_000;
/** Nodes that are waited for at the same time. */
const atOnce = 16;

export const exec: Command = {
  name: "exec",
  summary: "Run a command on the console of one, several or all running nodes",
  operands: "[--] COMMAND...",
  details:
    "The prompt is found, paging turned off and echo removed. On several nodes it runs at the same time; one node's failure stays its own.\n" +
    "Without --node the nodes that do not run, or whose console is no text, are named on stderr and left out. Exit code 1: the command failed on a node,\n" +
    "or there was none to run it on.",
  flags: [topoFlag, labFlag, nodeFlag, { long: "command", short: "c", value: "COMMAND", summary: "The command as one word" }, timeoutFlag],
  example: "labwright exec --node r1,r2 -- show ip route",
  run: async (context, args) => {
    const command = args.text("command") ?? args.operands.join(" ");
    if (args.has("command") && args.operands.length > 0) {
      const text = `exec: --command says "${command}", and there is "${args.operands.join(" ")}" too`;
      throw new UsageError(text, "what is for the node stands behind --: labwright exec --node NAME -- COMMAND");
    }
    if (command === "") throw new UsageError("exec: which command?", "labwright exec --node r1 -- show ip route");
    const { selector } = await context.project();
    const client = await context.client();
    const nodes = args.list("node");
    const timeout = args.milliseconds("timeout");
    const limit = { timeoutMs: (timeout ?? defaultTimeoutMs) + graceMs };
    const timed = timeout === undefined ? {} : { timeout_ms: timeout };
    const [only] = nodes;
    using progress = new Progress(context.terminal, `${command}`, { quiet: context.quiet });
    if (only !== undefined && nodes.length === 1) {
      const data = await client.execConsole({ ...selector, node: only, command, ...timed }, limit);
      progress[Symbol.dispose]();
      const text = data.output?.trimEnd() ?? "";
      if (context.json || text !== "") context.terminal.print(context.json ? JSON.stringify(data, null, 2) : text);
      return 0;
    }
    const { usable, skipped } = nodes.length > 0 ? { usable: nodes, skipped: [] } : await usableNodes(client, selector);
    if (!context.json) for (const [why, names] of grouped(skipped)) context.terminal.complain(`skipped, ${why}: ${shortList(names)}`);
    if (usable.length === 0 && !context.json)
      throw new UsageError(
        "no node has a text console that can be used now",
        "labwright status shows the nodes; labwright start starts them",
      );
    // Node by node, so that the person sees how far it is; the service runs them at the same time all the same.
    const results: Result[] = [];
    let done = 0;
    const queue = [...usable.entries()];
    const next = async () => {
      for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
        const [index, node] = one;
        const { results: [result] = [] } = await client.execConsoleMany({ ...selector, targets: [{ node, command, ...timed }] }, limit);
        if (result !== undefined) results[index] = result;
        done += 1;
        progress.say(`${command}: ${done} of ${usable.length} nodes`);
      }
    };
    await Promise.all(Array.from({ length: Math.min(atOnce, usable.length) }, next));
    progress[Symbol.dispose]();
    if (context.json) context.result({ results, ...(skipped.length > 0 && { skipped }) }, () => "");
    else for (const result of results) showResult(context.terminal, result, results);
    return results.length === 0 || results.some(({ ok }) => ok === false) ? 1 : 0;
  },
};

interface Skipped {
  readonly node: string;
  readonly reason: string;
}

/** The nodes whose text console can be opened now, and the others that have a console, by the names of the intent. */
async function usableNodes(client: LabwrightClient, selector: object): Promise<{ readonly usable: string[]; readonly skipped: Skipped[] }> {
  const { consoles = [] } = await client.listProjectConsoles(selector);
  const usable: string[] = [];
  const skipped: Skipped[] = [];
  for (const { node: key, name, console_type: type, status } of inNaturalOrder(consoles, ({ node, name = "" }) => node ?? name)) {
    const node = key ?? name;
    if (status !== "running") skipped.push({ node, reason: status });
    else if (type === "telnet" || type === "serial") usable.push(node);
    else skipped.push({ node, reason: `its console is ${type}, which is no text` });
  }
  return { usable, skipped };
}

function grouped(skipped: readonly Skipped[]): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const { node, reason } of skipped) groups.set(reason, [...(groups.get(reason) ?? []), node]);
  return groups;
}

/** Each line of output behind its node's name; failures go to stderr. */
function showResult(terminal: Terminal, result: Result, all: readonly Result[]): void {
  const width = Math.max(...all.map(({ node, name }) => (node ?? name ?? "").length));
  const prefix = terminal.paint("dim", `${(result.node ?? result.name ?? "").padEnd(width)} |`);
  const lines = (result.output ?? "").trimEnd().split(/\r?\n/);
  if (result.ok !== false || result.output !== undefined) terminal.print(lines.map((line) => `${prefix} ${line}`.trimEnd()).join("\n"));
  if (result.ok === false)
    terminal.complain(`${prefix} ${terminal.paint("red", "error:")} ${result.error ?? "failed"} (${result.code ?? "?"})`);
}
