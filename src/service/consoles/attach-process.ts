import { constants } from "node:os";
import type { Duplex } from "node:stream";
import { Failure } from "../../contract/errors.ts";
import type { NodeAttachData, NodeAttachPayload, NodeExecEvent, NodeStreamLine } from "../../contract/schemas/processes.ts";
import type { NodeProcess, NodeProgram } from "../../hosts/host-processes.ts";
import type { Call, Caller, Upgrade } from "../common/call.ts";
import { unsupported } from "../common/capabilities.ts";
import { addressPath } from "../context/address.ts";
import type { LookupParts, ObservationsPart, StreamsPart } from "../context/parts.ts";
import type { Tickets } from "../sessions/tickets.ts";
import { consoleLab, nodeOf } from "./consoles.ts";
import { endOf, outputEvent, refuseNul } from "./exec-nodes.ts";
import type { ExecPlaces } from "./exec-places.ts";

export interface ProcessGrant {
  readonly path: string;
  readonly key: string;
  readonly nodeId: string;
  readonly program: NodeProgram;
}

/** The best shell that the node has. */
const shell = ["/bin/sh", "-c", "command -v bash > /dev/null && exec bash; exec sh"];
/** Maximum characters of a line of the client. */
const maxLine = 2 << 20;

/** Issues a one-time ticket for an interactive program. Its arguments and environment are kept in memory until it is redeemed or expires. */
export async function attachProcess(
  context: LookupParts & ObservationsPart,
  tickets: Tickets<ProcessGrant>,
  caller: Caller,
  payload: NodeAttachPayload,
): Promise<NodeAttachData> {
  const lab = await consoleLab(context, caller, payload, "operate");
  const { path, host } = lab.target;
  if (host.processes === undefined || !(await host.capabilities()).features.nodeExec) throw unsupported("nodeExec");
  const { argv = shell, env = {}, cwd, terminal } = payload;
  refuseNul({ argv, env, ...(cwd !== undefined && { cwd }) });
  const { key, node } = nodeOf(lab, payload.node);
  const program: NodeProgram = { argv, env, ...(cwd !== undefined && { cwd }), ...(terminal !== undefined && { terminal }) };
  return { node: key, stream: tickets.issue(caller.session, { path, key, nodeId: node.id, program }), transport: "host-process" };
}

/** Redeems a ticket and starts the program. It ends with the connection, the session and the lab. */
export async function streamProcess(
  context: LookupParts & StreamsPart,
  { tickets, places }: { readonly tickets: Tickets<ProcessGrant>; readonly places: ExecPlaces },
  caller: Caller,
  ticket: string,
  call: Call,
): Promise<Upgrade> {
  const { path, key, nodeId, program } = tickets.redeem(ticket, caller.session);
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
        connection.once("close", close).on("error", close);
        takeInput(connection, process);
        void sendOutput(connection, key, process).finally(close);
      },
    };
  } catch (error) {
    close();
    throw error;
  }
}

async function sendOutput(connection: Duplex, node: string, process: NodeProcess): Promise<void> {
  const send = async (event: NodeExecEvent): Promise<void> => {
    if (connection.destroyed || connection.write(`${JSON.stringify(event)}\n`)) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        connection.off("drain", done).off("close", done);
        resolve();
      };
      connection.on("drain", done).on("close", done);
    });
  };
  try {
    for await (const item of process.output) {
      if (item.stream === "end") await send({ type: "end", node, ...endOf(item) });
      else await send(outputEvent(node, item.stream, item.data));
      if (connection.destroyed) return;
    }
  } catch (error) {
    const { code, message } = error instanceof Failure ? error : { code: "internal", message: "the connection to the program broke" };
    await send({ type: "failed", node, code, error: message });
  }
  connection.end();
}

/** Passes on the lines of the client. Closes the connection after a malformed one. */
function takeInput(connection: Duplex, process: NodeProcess): void {
  let text = "";
  let writing = Promise.resolve();
  connection.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    if (text.length > maxLine || !lines.every((line) => takeLine(line))) return void connection.destroy();
    connection.pause();
    writing = writing.then(() => void connection.resume());
  });
  const takeLine = (line: string): boolean => {
    const control = parsed(line);
    if (control === undefined) return false;
    const { input, input_end, resize, signal } = control;
    if (input !== undefined) writing = writing.then(() => process.write(Buffer.from(input, "base64")));
    if (input_end === true) writing = writing.then(() => process.endInput());
    if (resize !== undefined) process.resize({ columns: resize[0], rows: resize[1] });
    if (signal !== undefined) process.signal(constants.signals[signal as NodeJS.Signals]);
    return true;
  };
}

function parsed(line: string): NodeStreamLine | undefined {
  try {
    const value = JSON.parse(line) as NodeStreamLine | null;
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    const { input, resize, signal } = value;
    if (input !== undefined && typeof input !== "string") return undefined;
    if (resize !== undefined && !(Array.isArray(resize) && resize.length === 2 && resize.every(isExtent))) return undefined;
    return signal === undefined || Object.hasOwn(constants.signals, signal) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isExtent(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 10_000;
}
