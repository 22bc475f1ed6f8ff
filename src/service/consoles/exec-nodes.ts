import { constants } from "node:os";
import { Failure } from "../../contract/errors.ts";
import type { NodeExecEvent, NodeExecPayload } from "../../contract/schemas/processes.ts";
import type { HostProcesses, NodeProcess, NodeProgram, ProcessEnd, ProcessOutput } from "../../hosts/host-processes.ts";
import type { Call, Caller } from "../common/call.ts";
import { unsupported } from "../common/capabilities.ts";
import { badRequest } from "../common/refusals.ts";
import { inKeys } from "../context/in-keys.ts";
import type { LookupParts, ObservationsPart, StreamsPart, UsesPart } from "../context/parts.ts";
import { type ConsoleLab, type ConsoleNode, consoleLab } from "./consoles.ts";
import { EventChannel } from "./event-channel.ts";
import type { ExecPlaces } from "./exec-places.ts";
import { selectNodes } from "./node-selectors.ts";
import type { OutputTurns } from "./output-turns.ts";

/** Name of each signal by its number. */
const signalNames = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/** The limits that all programs in nodes share. */
export interface ProgramLimits {
  readonly places: ExecPlaces;
  readonly turns: OutputTurns;
}

interface Run {
  readonly user: string;
  readonly path: string;
  readonly processes: HostProcesses;
  readonly program: NodeProgram;
  readonly stdin: Buffer;
  readonly maxOutputBytes: number;
  readonly places: ExecPlaces;
  readonly turns: OutputTurns;
  readonly channel: EventChannel<NodeExecEvent>;
  readonly signal: AbortSignal;
}

/**
 * Runs a program in nodes, in all of them at the same time. A failure of one node is an event of that node. All programs end when the client disconnects, its
 * session ends or the lab is removed. Arguments, environment and input are neither stored nor logged.
 */
export async function execNodes(
  context: LookupParts & ObservationsPart & StreamsPart & UsesPart,
  { places, turns }: ProgramLimits,
  caller: Caller,
  payload: NodeExecPayload,
  call: Call,
): Promise<AsyncIterable<NodeExecEvent>> {
  const lab = await consoleLab(context, caller, payload, "operate");
  const { path, host } = lab.target;
  if (host.processes === undefined || !(await host.capabilities()).features.nodeExec) throw unsupported("nodeExec");
  const { argv, env = {}, cwd, timeout_ms: timeoutMs, max_output_bytes: maxOutputBytes = Number.POSITIVE_INFINITY } = payload;
  const stdin = inputOf(payload);
  refuseNul(payload);
  const program: NodeProgram = { argv, env, ...(cwd !== undefined && { cwd }), ...(timeoutMs !== undefined && { timeoutMs }) };
  const nodes = await chosenOf(context, lab, payload);
  const leave = places.enterCall(caller.user);
  const ended = new AbortController();
  const close = () => ended.abort();
  const forget = [
    context.sessions.onEnd(caller.session, close),
    context.streams.add(caller.user, path, close),
    leave,
    context.uses.begin(path),
  ];
  const signal = AbortSignal.any([call.signal, ended.signal]);
  const channel = new EventChannel<NodeExecEvent>();
  const run: Run = { user: caller.user, path, processes: host.processes, program, stdin, maxOutputBytes, places, turns, channel, signal };
  signal.addEventListener("abort", () => channel.close(), { once: true });
  const finished = Promise.all(nodes.map((node) => runIn(node, run))).finally(() => {
    channel.close();
    for (const each of forget) each();
  });
  finished.catch(() => undefined); // thrown to the reader
  return eventsOf(nodes, channel, finished, ended);
}

async function* eventsOf(
  nodes: readonly ConsoleNode[],
  channel: EventChannel<NodeExecEvent>,
  finished: Promise<unknown>,
  ended: AbortController,
): AsyncGenerator<NodeExecEvent, void, undefined> {
  try {
    yield { type: "begin", nodes: nodes.map(({ key }) => key) };
    yield* channel;
    await finished;
  } finally {
    ended.abort();
  }
}

/** Returns the selected nodes; without a selection all running nodes. */
async function chosenOf(
  context: ObservationsPart,
  { target, nodes }: ConsoleLab,
  { node, nodes: several }: NodeExecPayload,
): Promise<readonly ConsoleNode[]> {
  const selectors = [...(node === undefined || node === "" ? [] : [node]), ...(several ?? [])];
  if (selectors.length === 0 && several === undefined) {
    // The list of nodes is cached, their states are not.
    const live = await context.observations.status(target.host, target.path);
    const running = new Set(live.nodes.filter(({ status }) => status === "running" || status === "starting").map(({ id }) => id));
    return nodes.filter(({ node: { id } }) => running.has(id));
  }
  const labels = new Map((target.intent?.lab.nodes ?? []).map((one) => [one.key, one.labels]));
  const selectable = nodes.map(({ key, node: { template } }) => ({ key, template, labels: labels.get(key) ?? {} }));
  const chosen = selectNodes(selectors, selectable, target.path);
  return nodes.filter(({ key }) => chosen.has(key));
}

function inputOf({ stdin, stdin_base64: encoded }: NodeExecPayload): Buffer {
  if (stdin !== undefined && encoded !== undefined) throw badRequest("/stdin_base64", "stdin and stdin_base64 exclude each other");
  if (encoded === undefined) return Buffer.from(stdin ?? "");
  const bytes = Buffer.from(encoded, "base64");
  if (bytes.toString("base64").replace(/=+$/, "") !== encoded.replace(/=+$/, "")) throw badRequest("/stdin_base64", "is not base64");
  return bytes;
}

/** Throws bad_request for values that no program can get. */
export function refuseNul({ argv, env = {}, cwd = "" }: Pick<NodeExecPayload, "argv" | "env" | "cwd">): void {
  if (argv[0] === "") throw badRequest("/argv/0", "a program is needed");
  const index = argv.findIndex((argument) => argument.includes("\0"));
  if (index >= 0) throw badRequest(`/argv/${index}`, "must not contain a NUL");
  for (const [name, value] of Object.entries(env)) {
    if (!/^[^=\0]+$/.test(name) || value.includes("\0"))
      throw badRequest("/env", "a name must not be empty or contain = or NUL, a value no NUL");
  }
  if (cwd.includes("\0")) throw badRequest("/cwd", "must not contain a NUL");
}

/** Runs the program in one node, and writes its events. */
async function runIn(node: ConsoleNode, run: Run): Promise<void> {
  const { key } = node;
  const { channel, places, user, signal } = run;
  const free = await places.enterProgram(user);
  const startedAt = performance.now();
  try {
    if (signal.aborted) return;
    const process = await run.processes.start(run.path, node.node.id, run.program, signal).catch(inKeys(node));
    void process.write(run.stdin);
    process.endInput();
    const end = await forward(key, process, run);
    await channel.put({ type: "end", node: key, ...end, duration_ms: Math.round(performance.now() - startedAt) });
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof Failure)) throw error;
    await channel.put({ type: "failed", node: key, code: error.code, error: error.message });
  } finally {
    free();
  }
}

type End = Pick<NodeExecEvent, "exit_code" | "signal" | "reason">;

/** Maximum bytes of one output event. Larger strings are garbage that is collected late, and several users' calls wait for them. */
const pieceBytes = 32 << 10;

/** Forwards output up to the limit. Returns the end of the program. */
async function forward(node: string, { output }: NodeProcess, { user, channel, turns, maxOutputBytes }: Run): Promise<End> {
  let left = maxOutputBytes;
  for await (const item of output) {
    if (item.stream === "end") return endOf(item);
    const data = item.data.length > left ? item.data.subarray(0, left) : item.data;
    for (let at = 0; at < data.length; at += pieceBytes) {
      const piece = data.subarray(at, at + pieceBytes);
      await channel.put(outputEvent(node, item.stream, piece), piece.length);
      await turns.count(user, piece.length);
    }
    if (item.data.length > left) return { signal: "SIGKILL", reason: "output_limit" };
    left -= data.length;
  }
  throw new Failure("host_error", "the host did not report the end of the program");
}

function outputEvent(node: string, stream: Exclude<ProcessOutput["stream"], "end">, data: Buffer): NodeExecEvent {
  return { type: "output", node, stream, data: data.toString("base64") };
}

export function endOf({ exitCode, signal, reason }: ProcessEnd): End {
  return {
    ...(exitCode !== undefined && { exit_code: exitCode }),
    ...(signal !== undefined && { signal: signalNames.get(signal) ?? `SIG${signal}` }),
    ...(reason !== undefined && { reason: reason === "stopped" ? ("node_stopped" as const) : reason }),
  };
}
