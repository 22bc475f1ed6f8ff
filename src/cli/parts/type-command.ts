import { inNaturalOrder } from "../../base/natural-order.ts";
import { nodeKey } from "../../base/node-key.ts";
import type { LabwrightClient, ResultOf } from "../../client/index.ts";
import type { Context } from "../command/context.ts";
import { UsageError } from "../command/usage-error.ts";
import { Progress } from "../show/progress.ts";
import { shortList } from "../show/table.ts";
import type { Terminal } from "../show/terminal.ts";

type Result = NonNullable<ResultOf<"execConsoleMany">["results"]>[number];

/** The service's default time limit of a command, ms. */
const defaultTimeoutMs = 15_000;
/** Added to the time limit for the transport of the answer, ms. */
const graceMs = 10_000;
/** The maximum of simultaneous calls. */
const maxCalls = 16;

/** Types a command on the consoles of nodes and prints the answers. @param nodes empty: all running nodes */
export async function typeCommand(
  context: Context,
  nodes: readonly string[],
  command: string,
  timeout: number | undefined,
): Promise<number> {
  const { selector } = await context.project();
  const client = await context.client();
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
      "no node has a text console that is available now",
      "labwright status shows the nodes; labwright start starts them",
    );
  // One call per node, so that the progress line can count the nodes. The service still runs them at the same time.
  const results: Result[] = [];
  let done = 0;
  const queue = [...usable.entries()];
  const next = async () => {
    for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
      const [index, node] = one;
      const { results: [result] = [] } = await client.execConsoleMany({ ...selector, targets: [{ node, command, ...timed }] }, limit);
      if (result !== undefined) results[index] = result;
      done += 1;
      progress.update(`${command}: ${done} of ${usable.length} nodes`);
    }
  };
  await Promise.all(Array.from({ length: Math.min(maxCalls, usable.length) }, next));
  progress[Symbol.dispose]();
  if (context.json) context.result({ results, ...(skipped.length > 0 && { skipped }) }, () => "");
  else for (const result of results) showResult(context.terminal, result, results);
  return results.length === 0 || results.some(({ ok }) => ok === false) ? 1 : 0;
}

interface Skipped {
  readonly node: string;
  readonly reason: string;
}

/** Returns the nodes whose text console can be opened now, and the other nodes with a console, by their names in the intent. */
async function usableNodes(client: LabwrightClient, selector: object): Promise<{ readonly usable: string[]; readonly skipped: Skipped[] }> {
  const { consoles = [] } = await client.listProjectConsoles(selector);
  const usable: string[] = [];
  const skipped: Skipped[] = [];
  for (const one of inNaturalOrder(consoles, nodeKey)) {
    const { console_type: type, status } = one;
    const node = nodeKey(one);
    if (status !== "running") skipped.push({ node, reason: status });
    else if (type === "telnet" || type === "serial") usable.push(node);
    else skipped.push({ node, reason: `its console is ${type}, not text` });
  }
  return { usable, skipped };
}

function grouped(skipped: readonly Skipped[]): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const { node, reason } of skipped) groups.set(reason, [...(groups.get(reason) ?? []), node]);
  return groups;
}

/** Prints each line of output after its node's name. Failures are written to stderr. */
function showResult(terminal: Terminal, result: Result, all: readonly Result[]): void {
  const width = Math.max(...all.map(({ node, name }) => (node ?? name ?? "").length));
  const prefix = terminal.paint("dim", `${(result.node ?? result.name ?? "").padEnd(width)} |`);
  const lines = (result.output ?? "").trimEnd().split(/\r?\n/);
  if (result.ok !== false || result.output !== undefined) terminal.print(lines.map((line) => `${prefix} ${line}`.trimEnd()).join("\n"));
  if (result.ok === false)
    terminal.complain(`${prefix} ${terminal.paint("red", "error:")} ${result.error ?? "failed"} (${result.code ?? "?"})`);
}
