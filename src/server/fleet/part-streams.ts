import type { IncomingMessage, ServerResponse } from "node:http";
import { type ClientHttp2Session, connect, performServerHandshake, type ServerHttp2Stream } from "node:http2";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Failure } from "../../contract/errors.ts";
import type { HostParts, PartCall } from "../../hosts/host-fleet.ts";
import { takeConnection } from "../streams/upgrades.ts";
import { failureLine, type Line, machineCall, readLine, readMachineAnswer } from "./machine-calls.ts";

/*
 * Calls to the parts of labs on other machines. All calls of one machine to another, also a thousand programs and consoles, are streams of HTTP/2 on one
 * connection: each would otherwise need a connection with a handshake of its own. In a stream, both sides send a line of JSON and then bytes.
 */

/** The path at which a connection for such calls begins, as an upgrade. */
export const partStreamsPath = "/machine/parts";
export const partStreamsProtocol = "labwright-parts";

/** Maximum bytes of a call: the steps of a part of a lab. */
const maxCall = 256 * 1024 * 1024;
/** Bytes that all streams of a connection may have sent unread. */
const windowBytes = 64 * 1024 * 1024;
const settings = { initialWindowSize: 1024 * 1024, maxConcurrentStreams: 10_000 };
/** MiB of memory that a connection may use. */
const maxSessionMemory = 1_024;

/**
 * Answers the calls of another machine on a connection that is upgraded.
 * @param isMember whether that machine is still part of the fleet; asked for each call
 */
export function acceptPartStreams(
  from: number,
  request: IncomingMessage,
  response: ServerResponse,
  { parts, isMember }: { readonly parts: HostParts | undefined; readonly isMember: () => boolean },
): void {
  const { connection, head } = takeConnection(request, response);
  if (connection.destroyed) return;
  const accepted = `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${partStreamsProtocol}\r\n\r\n`;
  const begin = () => {
    if (connection.destroyed) return;
    if (head.length > 0) connection.unshift(head);
    const session = performServerHandshake(connection, { settings, maxSessionMemory });
    session.once("connect", () => session.setLocalWindowSize(windowBytes));
    session.on("error", () => connection.destroy());
    session.on("stream", (stream) => {
      if (isMember()) void answer(from, stream, parts);
      else connection.destroy();
    });
  };
  // HTTP/2 takes the connection itself over, on which no write may be under way.
  connection.write(accepted, () => setImmediate(begin));
}

async function answer(from: number, stream: ServerHttp2Stream, parts: HostParts | undefined) {
  const gone = new AbortController();
  stream.once("close", () => gone.abort(new Failure("cancelled", "the machine that called has gone")));
  stream.on("error", () => undefined);
  const line = (value: Line) => stream.write(`${JSON.stringify(value)}\n`);
  try {
    stream.respond({ ":status": 200 });
    if (parts === undefined) throw new Failure("unsupported", "this machine takes no parts of labs of other machines");
    const call: PartCall = machineCall(await readLine(stream, maxCall));
    const { facts, body } = await parts.answer(from, call, stream, gone.signal);
    line({ facts: facts ?? null });
    if (body === undefined) stream.end();
    // A body that fails ends the stream before its time: the caller sees a broken answer.
    else await pipeline(body, stream, { end: true }).catch(() => stream.destroy());
  } catch (error) {
    if (stream.destroyed) return;
    line(failureLine(error));
    stream.end();
  }
}

/** The connections of this machine to the others. */
export class PartConnections {
  readonly #sessions = new Map<number, Promise<ClientHttp2Session>>();
  readonly #connect: (machine: number) => Promise<Duplex>;

  /** @param open connects to a machine at `partStreamsPath`; throws machine_unreachable */
  constructor(open: (machine: number) => Promise<Duplex>) {
    this.#connect = open;
  }

  async open(machine: number, call: PartCall, signal?: AbortSignal): Promise<{ readonly facts: unknown; readonly stream: Duplex }> {
    signal?.throwIfAborted();
    const session = await this.#session(machine);
    const stream = session.request({ ":method": "POST", ":path": "/" }, { endStream: false });
    const stop = () => stream.destroy();
    signal?.addEventListener("abort", stop, { once: true });
    stream.once("close", () => signal?.removeEventListener("abort", stop));
    let cause: Error | undefined;
    stream.on("error", (error) => (cause = error));
    stream.write(`${JSON.stringify(call)}\n`);
    try {
      const { facts, body } = await readMachineAnswer(stream);
      return { facts, stream: body };
    } catch (error) {
      stream.destroy();
      signal?.throwIfAborted();
      if (error instanceof Failure) throw error;
      throw new Failure("machine_unreachable", "the connection to another machine of the lab ended before its answer", {
        data: { machine: String(machine) },
        cause: cause ?? error,
        retryAfter: 5,
      });
    }
  }

  close(): void {
    for (const session of this.#sessions.values()) void session.then((one) => one.destroy()).catch(() => undefined);
    this.#sessions.clear();
  }

  #session(machine: number): Promise<ClientHttp2Session> {
    const known = this.#sessions.get(machine);
    if (known !== undefined) return known;
    const opening = this.#connect(machine).then((socket) => {
      const session = connect("http://machine", { createConnection: () => socket, settings, maxSessionMemory } as never);
      session.once("connect", () => session.setLocalWindowSize(windowBytes));
      session.on("error", () => undefined);
      const forget = () => {
        if (this.#sessions.get(machine) === opening) this.#sessions.delete(machine);
        session.destroy();
      };
      for (const event of ["close", "goaway"]) session.once(event, forget);
      socket.once("close", forget);
      return session;
    });
    this.#sessions.set(machine, opening);
    opening.catch(() => this.#sessions.delete(machine));
    return opening;
  }
}
