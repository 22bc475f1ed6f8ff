import { constants } from "node:os";
import type { Duplex } from "node:stream";
import { BlockWriter } from "../../console/stream/block-writer.ts";
import { Failure } from "../../contract/errors.ts";
import { frame, frameHead, frameTypes } from "../../contract/process-frames.ts";
import type { NodeAttachData, NodeAttachPayload, NodeExecEvent } from "../../contract/schemas/processes.ts";
import type { NodeProcess, NodeProgram, ProcessEnd, ProcessListening, ProcessOutput } from "../../hosts/host-processes.ts";
import type { Call, Caller, Upgrade } from "../common/call.ts";
import { unsupported } from "../common/capabilities.ts";
import { addressPath } from "../context/address.ts";
import type { LookupParts, ObservationsPart, StreamsPart, UsesPart } from "../context/parts.ts";
import type { Tickets } from "../sessions/tickets.ts";
import { consoleLab, nodeOf } from "./consoles.ts";
import { endOf, type ProgramLimits, refuseNul } from "./exec-nodes.ts";
import type { OutputTurns } from "./output-turns.ts";
import { takeInput } from "./take-input.ts";

export interface ProcessGrant {
  readonly path: string;
  readonly key: string;
  readonly nodeId: string;
  readonly program: NodeProgram;
  /** The program removes what it has begun if it gets SIGTERM. */
  readonly cleansUp?: true;
}

/** The time that a program has to clean up after its client has left, ms. */
const cleanUpMs = 5_000;

/** The best shell that the node has. Its prompt shows the node, unless the caller has set one; bash's own settings win. busybox sets PS1 before it reads the command. */
const shell = [
  "/bin/sh",
  "-c",
  `env | grep -q ^PS1= || export PS1="$(uname -n):"'$PWD# '; command -v bash > /dev/null && exec bash; exec sh`,
];

/** Issues a one-time ticket for an interactive program. Its arguments and environment are kept in memory until it is redeemed or expires. */
export async function attachProcess(
  context: LookupParts & ObservationsPart,
  tickets: Tickets<ProcessGrant>,
  caller: Caller,
  payload: NodeAttachPayload,
  { cleansUp, ...properties }: Pick<NodeProgram, "conversation"> & Pick<ProcessGrant, "cleansUp"> = {},
): Promise<NodeAttachData> {
  const lab = await consoleLab(context, caller, payload, "operate");
  const { path, host } = lab.target;
  if (host.processes === undefined || !(await host.capabilities()).features.nodeExec) throw unsupported("nodeExec");
  const { argv = shell, env = {}, cwd, timeout_ms: timeoutMs, terminal } = payload;
  refuseNul({ argv, env, ...(cwd !== undefined && { cwd }) });
  const { key, node } = nodeOf(lab, payload.node);
  const program: NodeProgram = {
    argv,
    env,
    ...(cwd !== undefined && { cwd }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(terminal !== undefined && { terminal }),
    ...properties,
  };
  return {
    node: key,
    stream: tickets.issue(caller.session, { path, key, nodeId: node.id, program, ...(cleansUp && { cleansUp }) }),
    transport: "host-process",
  };
}

/** Redeems a ticket and starts the program. It ends with the connection, the session and the lab. */
export async function streamProcess(
  context: LookupParts & StreamsPart & UsesPart,
  { tickets, places, turns }: ProgramLimits & { readonly tickets: Tickets<ProcessGrant> },
  caller: Caller,
  ticket: string,
  call: Call,
): Promise<Upgrade> {
  const { path, key, nodeId, program, cleansUp } = tickets.redeem(ticket, caller.session);
  const { host } = await addressPath(context, caller, path, "operate");
  if (host.processes === undefined) throw unsupported("nodeExec");
  const ended = new AbortController();
  const close = () => ended.abort();
  const forget = [
    places.enterCall(caller.user),
    context.sessions.onEnd(caller.session, close),
    context.streams.add(caller.user, path, close),
  ];
  ended.signal.addEventListener("abort", () => {
    for (const each of forget) each();
  });
  try {
    const process = await host.processes.start(path, nodeId, program, ended.signal);
    if (call.signal.aborted) close();
    else call.signal.addEventListener("abort", close, { once: true });
    return {
      protocol: "host-process",
      resize: (columns, rows) => process.resize({ columns, rows }),
      attach: (connection) => {
        // From now on the end of the connection ends the program.
        call.signal.removeEventListener("abort", close);
        const leave = cleansUp === true ? () => endSoon(process, close) : close;
        connection.once("close", leave).on("error", leave);
        // A client that does not read must not hold up the end of its session or lab.
        ended.signal.addEventListener("abort", () => void (connection.writableEnded || connection.destroy()));
        takeInput(connection, process);
        // Input and output are a use of the lab; a shell that is only open is none.
        const note = () => context.uses.note(path);
        connection.on("data", note);
        void sendOutput(connection, key, process, { ended: ended.signal, note, count: (bytes) => turns.count(caller.user, bytes) }).finally(
          close,
        );
      },
    };
  } catch (error) {
    close();
    throw error;
  }
}

type Counting = (bytes: number) => ReturnType<OutputTurns["count"]>;

/** Sends the output of the program as frames, and its end. */
async function sendOutput(
  connection: Duplex,
  node: string,
  process: NodeProcess,
  { ended, note, count }: { readonly ended: AbortSignal; readonly note: () => void; readonly count: Counting },
): Promise<void> {
  const writer = new BlockWriter(connection);
  const sendControl = (event: NodeExecEvent) => writer.write(frame(frameTypes.control, Buffer.from(JSON.stringify(event))));
  const send = (item: ProcessOutput | ProcessEnd): void => {
    note();
    if (item.stream === "end") sendControl({ type: "end", node, ...endOf(item) });
    else writer.write(frameHead(item.stream === "stdout" ? frameTypes.data : frameTypes.error, item.data.length), item.data);
  };
  try {
    if (process.listen === undefined) {
      for await (const item of process.output) {
        send(item);
        await writer.room();
        if (item.stream !== "end") await count(item.data.length);
        if (connection.destroyed) return;
      }
    } else {
      let uncounted = 0;
      let isSettling = false;
      const settle = async (): Promise<void> => {
        while (uncounted > 0) {
          const turn = count(uncounted);
          uncounted = 0;
          if (turn === undefined && !writer.isFull) continue;
          // Some output may still come after the pause.
          listening.pause();
          await turn;
          await writer.room();
        }
        isSettling = false;
        listening.resume();
      };
      const listening: ProcessListening = process.listen((item) => {
        send(item);
        if (item.stream === "end") return;
        uncounted += item.data.length;
        if (isSettling) return;
        isSettling = true;
        queueMicrotask(settle);
      });
      await listening.ended;
    }
  } catch (error) {
    // The session or the lab has ended: the client finds the connection closed.
    if (ended.aborted) return void connection.destroy();
    const { code, message } = error instanceof Failure ? error : { code: "internal", message: "the connection to the program broke" };
    sendControl({ type: "failed", node, code, error: message });
  }
  await writer.sent();
  connection.end();
}

/** Lets the program clean up. Its end, or the end of its time, closes it. */
function endSoon(process: NodeProcess, close: () => void): void {
  process.signal(constants.signals.SIGTERM);
  setTimeout(close, cleanUpMs).unref();
}
