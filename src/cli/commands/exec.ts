import { constants } from "node:os";
import { buffer } from "node:stream/consumers";
import { shellWord } from "../../base/shell-word.ts";
import { type ErrorCode, LabwrightError, type ResultOf } from "../../client/index.ts";
import { isSelector } from "../../intent/fields/node-selector.ts";
import { readIntent } from "../../intent/read/read.ts";
import type { Arguments } from "../command/arguments.ts";
import { type Command, labFlag, nodeFlag, topoFlag } from "../command/command.ts";
import type { Context } from "../command/context.ts";
import { UsageError } from "../command/usage-error.ts";
import { typeCommand } from "../parts/type-command.ts";
import { chosenNodes } from "../selectors/chosen-nodes.ts";
import { shortList } from "../show/table.ts";
import { execWithInput } from "../streams/exec-with-input.ts";
import { NodeOutput } from "../streams/node-output.ts";

type ExecEvent = ResultOf<"execNodes"> extends AsyncIterable<infer Item> ? Item : never;

/** The exit codes of a program that was killed at its time limit, as timeout(1) has it, and at its output limit. */
const [timedOut, tooMuch] = [124, 125];
/** The exit code of a call whose connection to the service ended before the program, as ssh has it. */
const cutOff = 255;

export const exec: Command = {
  name: "exec",
  summary: "Run a program in one, several or all running nodes; returns its exit code",
  operands: "[NODE...] -- PROGRAM [ARGUMENT...]",
  completes: "node",
  details:
    "The program runs beside the node's console and beside other programs. No shell reads its arguments: for pipes and the like write -- sh -c '...'. Its\n" +
    "output is printed as it comes, from several nodes line by line after the node's name. NODE is a name, a pattern such as 'leaf*', kind:NAME,\n" +
    "group:NAME or label:KEY=VALUE. Without NODE it runs in all running nodes that can run programs. The exit code is the program's, 128 and the number of the signal that ended\n" +
    "it, 124 after the time limit, 125 after the output limit, 255 if the connection to the service ended before the program, which then ends too; of several\n" +
    "nodes the highest. Nodes that have only a console (virtual machines without a\n" +
    "guest agent, nodes of other hosts) get the words typed there, as labwright cli does. --command, and --node with words without --, are the deprecated form, which types\n" +
    "on the consoles too.",
  flags: [
    topoFlag,
    labFlag,
    { long: "env", short: "e", value: "NAME=VALUE", multiple: true, summary: "Set an environment variable; repeatable" },
    { long: "cwd", short: "w", value: "FOLDER", summary: "Work directory in the node" },
    { long: "stdin", short: "i", summary: "Send standard input to the program; to several nodes up to 20 MiB" },
    { long: "timeout", value: "SECONDS", summary: "Kill the program and all that it started after this time" },
    { long: "max-output", value: "BYTES", summary: "Kill a program that writes more" },
    nodeFlag,
    { long: "command", short: "c", value: "COMMAND", summary: "Deprecated: a command to type on the console, as labwright cli does" },
  ],
  example: "labwright exec r1 r2 -- ip -br address",
  run: async (context, args) => {
    if (args.rest === undefined && args.operands.length > 0 && !args.has("node") && !args.has("command"))
      throw await withoutDashes(context, args.operands);
    const old = oldCommand(args);
    if (old !== undefined) {
      context.terminal.note(
        "exec with words without --, or with --command, is deprecated and types on the console: use labwright cli NODE -- COMMAND",
      );
      return typeCommand(context, args.list("node"), old, args.milliseconds("timeout"));
    }
    const argv = args.rest ?? [];
    if (argv.length === 0) throw new UsageError("exec needs a program after --", "labwright exec r1 -- ip address");
    const operands = args.operands.slice(0, args.operands.length - argv.length);
    const nodes = [...args.list("node"), ...operands.flatMap((name) => name.split(",").filter((each) => each !== ""))];
    const [only] = nodes;
    const isSingle = nodes.length === 1 && only !== undefined && !isSelector(only);
    try {
      return await runInNodes(context, args, { nodes: await chosenNodes(context, nodes), isSingle }, argv);
    } catch (error) {
      const feature =
        error instanceof LabwrightError && error.code === "unsupported" ? (error.data as { feature?: string })?.feature : undefined;
      if (feature !== "nodeExec") throw error;
      context.terminal.note("this host runs no programs in nodes: typed on their consoles instead, as labwright cli does");
      return typeCommand(context, nodes, argv.join(" "), args.milliseconds("timeout"));
    }
  },
};

/** The error for words without --. The first words may be nodes, as in docker exec, or the program: nodes are known if the lab has a file. */
async function withoutDashes(context: Context, words: readonly string[]): Promise<UsageError> {
  const { file } = await context.project();
  const keys = new Set(file === undefined ? [] : readIntent(file.yaml, file.files).lab?.nodes.map(({ key }) => key));
  const isNode = (word: string) => word.split(",").every((one) => keys.has(one) || isSelector(one));
  const end = words.findIndex((word) => !isNode(word));
  const nodes = words.slice(0, end === -1 ? words.length : end);
  const program = words.slice(nodes.length).map(shellWord).join(" ") || "PROGRAM";
  const chosen = nodes.length === 0 ? "NODE" : nodes.map(shellWord).join(" ");
  const all = nodes.length === 0 ? "; without NODE it runs in all nodes" : "";
  return new UsageError("exec needs -- before the program; nothing was run", `labwright exec ${chosen} -- ${program}${all}`);
}

/** Returns the command of the deprecated form, which types on consoles. */
function oldCommand(args: Arguments): string | undefined {
  const command = args.text("command");
  if (command !== undefined && args.operands.length > 0) {
    const text = `exec has two commands: --command "${command}" and "${args.operands.join(" ")}"`;
    throw new UsageError(text, "arguments for the node are given after --: labwright exec NODE -- PROGRAM");
  }
  if (command !== undefined) return command;
  if (args.rest !== undefined) return undefined;
  const words = args.operands.join(" ");
  return words !== "" && args.has("node") ? words : undefined;
}

interface Outcome {
  readonly node: string;
  readonly stdout: Buffer[];
  readonly stderr: Buffer[];
  end?: ExecEvent;
}

interface Chosen {
  readonly nodes: readonly string[];
  /** One node was named, not chosen by a selector: its output is printed unchanged. */
  readonly isSingle: boolean;
}

async function runInNodes(
  context: Context,
  args: Arguments,
  { nodes, isSingle: single }: Chosen,
  argv: readonly string[],
): Promise<number> {
  const { selector } = await context.project();
  const client = await context.client();
  const max = args.text("max-output");
  const timeout = args.milliseconds("timeout");
  const input = {
    ...selector,
    argv,
    env: variables(args.texts("env")),
    ...(args.has("cwd") && { cwd: args.text("cwd") ?? "" }),
    ...(timeout !== undefined && { timeout_ms: timeout }),
  };
  const maxBytes = max === undefined ? undefined : positive(max);
  const [only] = nodes;
  const events =
    args.has("stdin") && nodes.length === 1 && only !== undefined
      ? execWithInput(client, { ...input, node: only }, context.terminal.stdin, maxBytes)
      : await client.execNodes({
          ...input,
          ...(nodes.length > 0 && { nodes }),
          ...(maxBytes !== undefined && { max_output_bytes: maxBytes }),
          ...(args.has("stdin") && { stdin_base64: (await readInput(context)).toString("base64") }),
        });
  const outcomes = new Map<string, Outcome>();
  let printer = new NodeOutput(context.terminal, []);
  let broken: unknown;
  for await (const event of untilBroken(events, (error) => {
    broken = error;
  })) {
    if (event.type === "begin") printer = new NodeOutput(context.terminal, event.nodes ?? []);
    for (const node of event.nodes ?? []) outcomes.set(node, { node, stdout: [], stderr: [] });
    const outcome = outcomes.get(event.node ?? "");
    if (outcome === undefined) continue;
    if (event.type === "output") {
      const { stream = "stdout" } = event;
      const data = Buffer.from(event.data ?? "", "base64");
      if (context.json) outcome[stream].push(data);
      else if (single) await written(context.terminal[stream], data);
      else printer.add(outcome.node, stream, data);
    } else {
      outcome.end = event;
      if (!context.json && !single) printer.end(outcome.node);
    }
  }
  // Nothing has run yet, or the reason is the service's.
  if (broken !== undefined && (outcomes.size === 0 || (broken instanceof LabwrightError && broken.status > 0))) throw broken;
  const all = [...outcomes.values()];
  const failed = single ? all[0]?.end : undefined;
  // One node that was named: its failure is shown with its hint, as that of any other command.
  if (failed?.type === "failed" && failed.code !== "unsupported" && !context.json)
    throw new LabwrightError(failed.error ?? "failed", { status: 409, code: failed.code as ErrorCode, data: { node: only } });
  const consoleOnly = all.filter(({ end }) => end?.type === "failed" && end.code === "unsupported");
  const ran = all.filter((one) => !consoleOnly.includes(one));
  if (all.length === 0) throw new UsageError("no node runs", "labwright status shows the nodes; labwright start starts them");
  if (context.json) context.result({ results: all.map(asJson) }, () => "");
  else for (const outcome of ran) complain(context, outcome, single, printer);
  if (!context.json && ran.some(({ end }) => end === undefined))
    context.terminal.complain("  hint: the program ends with its connection; labwright status shows the lab; then run it again");
  const codes = ran.map(exitCode);
  if (consoleOnly.length > 0 && !context.json) codes.push(await onConsoles(context, consoleOnly, nodes, argv, timeout));
  return Math.max(0, ...codes);
}

/** Yields the events until the connection breaks, and passes on the error. */
async function* untilBroken(events: AsyncIterable<ExecEvent>, onError: (error: unknown) => void): AsyncGenerator<ExecEvent> {
  try {
    yield* events;
  } catch (error) {
    onError(error);
  }
}

/** Types the words on nodes that were named and have only a console. Nodes that were not named are skipped. */
async function onConsoles(
  context: Context,
  outcomes: readonly Outcome[],
  named: readonly string[],
  argv: readonly string[],
  timeout: number | undefined,
): Promise<number> {
  const names = outcomes.map(({ node }) => node);
  const typed = names.filter((name) => named.includes(name));
  const skipped = names.filter((name) => !named.includes(name));
  if (skipped.length > 0) context.terminal.complain(`skipped, no programs run there: ${shortList(skipped)}`);
  if (typed.length === 0) return 0;
  context.terminal.note(`${shortList(typed)}: no programs run there, so that the words are typed on the console, as labwright cli does`);
  return typeCommand(context, typed, argv.join(" "), timeout);
}

function complain(context: Context, { node, end }: Outcome, single: boolean, printer: NodeOutput): void {
  const text = problemOf(end);
  if (text === undefined) return;
  if (single) context.terminal.complain(`${context.terminal.paint("red", "error:")} ${text}`);
  else printer.complain(node, text);
}

/** Returns the problem that the exit code alone does not show. */
function problemOf(end: ExecEvent | undefined): string | undefined {
  if (end === undefined)
    return "the connection to the service ended before the program: the service has stopped or cannot be reached, or the session or the lab was ended";
  if (end.type === "failed") return `${end.error ?? "failed"} (${end.code ?? "?"})`;
  const reasons = {
    timeout: "killed after the time limit",
    output_limit: "killed after the output limit",
    node_stopped: "ended with its node",
  };
  if (end.reason !== undefined) return reasons[end.reason];
  return end.signal === undefined ? undefined : `ended by ${end.signal}`;
}

function exitCode({ end }: Outcome): number {
  if (end === undefined) return cutOff;
  if (end.type === "failed") return 1;
  if (end.reason === "timeout") return timedOut;
  if (end.reason === "output_limit") return tooMuch;
  if (end.signal !== undefined) return 128 + (constants.signals[end.signal as NodeJS.Signals] ?? 0);
  return end.exit_code ?? 1;
}

function asJson({ node, stdout, stderr, end }: Outcome): object {
  if (end === undefined || end.type === "failed")
    return { node, ok: false, code: end === undefined ? "host_unreachable" : end.code, error: problemOf(end) };
  const { exit_code, signal, reason, duration_ms } = end;
  return { node, ok: true, exit_code, signal, reason, ...outputFields("stdout", stdout), ...outputFields("stderr", stderr), duration_ms };
}

/** The output as text; as base64 if it is not an UTF-8. */
function outputFields(name: string, parts: readonly Buffer[]): object {
  const bytes = Buffer.concat(parts);
  const text = bytes.toString("utf8");
  return Buffer.from(text).equals(bytes) ? { [name]: text } : { [`${name}_base64`]: bytes.toString("base64") };
}

function variables(settings: readonly string[]): Record<string, string> {
  const pairs = settings.map((setting) => {
    const at = setting.indexOf("=");
    if (at <= 0) throw new UsageError(`--env takes NAME=VALUE, not "${setting}"`);
    return [setting.slice(0, at), setting.slice(at + 1)] as const;
  });
  return Object.fromEntries(pairs);
}

function positive(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value <= 0) throw new UsageError(`--max-output takes a number of bytes, not "${text}"`);
  return value;
}

/** Maximum bytes of standard input: with its encoding it must fit into a request. */
const maxInput = 20 << 20;

async function readInput({ terminal }: Context): Promise<Buffer> {
  const bytes = await buffer(terminal.stdin as unknown as AsyncIterable<Buffer>);
  if (bytes.length > maxInput)
    throw new UsageError(`exec: standard input has ${bytes.length} bytes; --stdin sends at most ${maxInput} to several nodes`);
  return bytes;
}

/** Writes bytes, and waits while the reader is slow. */
async function written(stream: NodeJS.WritableStream, data: Buffer): Promise<void> {
  if (!stream.write(data)) await new Promise((resolve) => stream.once("drain", resolve));
}
