import type { ResultOf } from "../../client/index.ts";
import { type Command, labFlag, nodeFlag, timeoutFlag, topoFlag } from "../command.ts";
import { Progress } from "../progress.ts";
import type { Terminal } from "../terminal.ts";
import { UsageError } from "../usage-error.ts";

type Result = NonNullable<ResultOf<"execConsoleMany">["results"]>[number];

/** The service's own default for one command, milliseconds. */
const defaultTimeoutMs = 15_000;
/** What an answer may take on top of the commands themselves. */
const graceMs = 10_000;

export const exec: Command = {
  name: "exec",
  summary: "Run a command on the console of one, several or all running nodes",
  operands: "[--] COMMAND...",
  details:
    "The prompt is found, paging turned off and echo removed. On several nodes it runs at the same time; one node's failure stays its own.",
  flags: [topoFlag, labFlag, nodeFlag, { long: "command", short: "c", value: "COMMAND", summary: "The command as one word" }, timeoutFlag],
  example: "labwright exec --node r1,r2 -- show ip route",
  run: async (context, args) => {
    const command = args.text("command") ?? args.operands.join(" ");
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
      if (context.json || text !== "") context.result(data, () => text);
      return 0;
    }
    const targets = nodes.length === 0 ? {} : { targets: nodes.map((node) => ({ node, command, ...timed })) };
    const data = await client.execConsoleMany({ ...selector, command, ...timed, ...targets }, limit);
    progress[Symbol.dispose]();
    const results = data.results ?? [];
    if (context.json) context.result(data, () => "");
    else for (const result of results) showResult(context.terminal, result, results);
    return results.some(({ ok }) => ok === false) ? 1 : 0;
  },
};

/** Each line of output behind its node's name; failures go to stderr. */
function showResult(terminal: Terminal, result: Result, all: readonly Result[]): void {
  const width = Math.max(...all.map(({ node, name }) => (node ?? name ?? "").length));
  const prefix = terminal.paint("dim", `${(result.node ?? result.name ?? "").padEnd(width)} |`);
  const lines = (result.output ?? "").trimEnd().split(/\r?\n/);
  if (result.ok !== false || result.output !== undefined) terminal.print(lines.map((line) => `${prefix} ${line}`.trimEnd()).join("\n"));
  if (result.ok === false)
    terminal.stderr.write(`${prefix} ${terminal.paint("red", "error:")} ${result.error ?? "failed"} (${result.code ?? "?"})\n`);
}
