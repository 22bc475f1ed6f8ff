import type { ClientRequest, IncomingMessage } from "node:http";
import { Agent, type RequestOptions, request as send } from "node:https";
import { type Duplex, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { PeerCertificate } from "node:tls";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Failure } from "../../contract/errors.ts";
import { ownProtocol, protocolProblem, protocolWith } from "../../contract/fleet-protocol.ts";
import { operations } from "../../contract/operations.ts";
import type { MachineAnswer, MachineCall } from "../../service/common/fleet-calls.ts";
import type { MachineRow } from "../../service/store/machines.ts";
import { type Forwarded, forwardedHeader, forwardedText, notOwnerHeader, protocolHeader } from "../forwarding/forwarded.ts";
import { isUpgrade, takeConnection } from "../streams/upgrades.ts";
import { machineCallPath, readMachineAnswer, relabelled } from "./machine-calls.ts";
import { memberTls } from "./member-listener.ts";
import { type MemberCredentials, subjectOf } from "./membership.ts";
import { partStreamsPath, partStreamsProtocol } from "./part-streams.ts";
import { OpenCalls, type OpenCallsOptions } from "./reach/open-calls.ts";
import { isOfClocks } from "./reach/reach.ts";

/** Time to connect to another machine, ms. */
const connectMs = 2_000;
/** Time to answer a probe, its connection included, ms. */
const probeMs = 4_000;
/** An idle connection is closed after this time, ms. */
const idleMs = 60_000;
/** Headers of a client that the owner of the lab needs too. */
const passed = ["accept", "prefer", "idempotency-key", "last-event-id", "range", "if-none-match", "user-agent", "cookie"];
const passedOfUpgrades = ["upgrade", "sec-websocket-key", "sec-websocket-version", "sec-websocket-protocol", "sec-websocket-extensions"];
/** Headers of an answer that belong to one connection. */
const ofConnection = new Set(["connection", "keep-alive", "transfer-encoding", "date", notOwnerHeader]);

type Target = Pick<MachineRow, "number" | "name" | "url" | "seenAt" | "facts">;

/** Passes calls on to other machines of the fleet, and their answers back, without a copy in memory. */
export class Forwarder {
  readonly #agents = new Map<number, Agent>();
  readonly #credentials: () => MemberCredentials;
  readonly #protocol: number;
  readonly #open: OpenCalls;

  /** @param options protocol: number of the protocol of this machine; probes: their times */
  constructor(
    credentials: () => MemberCredentials,
    {
      protocol = ownProtocol,
      probes = {},
    }: { readonly protocol?: number; readonly probes?: Omit<OpenCallsOptions, "probe"> | undefined } = {},
  ) {
    this.#credentials = credentials;
    this.#protocol = protocol;
    this.#open = new OpenCalls({ ...probes, probe: (machine) => this.#probe(machine) });
  }

  /** Uses new credentials for new connections. Calls that are on their way end on theirs, which close when they are idle. */
  renew(): void {
    this.#agents.clear();
  }

  close(): void {
    this.#open.close();
    for (const agent of this.#agents.values()) agent.destroy();
  }

  /**
   * Passes a call on, and its answer back. Returns false, with nothing sent, if the other machine does not own the lab any more. Throws machine_unreachable.
   * @param sent the checked body of the request; undefined: it has none
   */
  async forward(machine: Target, request: FastifyRequest, reply: FastifyReply, forwarded: Forwarded, sent: unknown): Promise<boolean> {
    const outgoing = this.#send(machine, request.raw, forwarded, sent === undefined ? undefined : JSON.stringify(sent));
    const left = () => outgoing.destroy();
    reply.raw.once("close", left);
    this.#watch(machine, outgoing);
    const answer = await answerOf(outgoing, machine);
    if ("socket" in answer && "head" in answer) {
      join(request, reply, answer);
      return true;
    }
    const { response } = answer;
    if (response.headers[notOwnerHeader] !== undefined) {
      reply.raw.off("close", left);
      response.resume();
      return false;
    }
    const body = await refusal(machine, response);
    const headers = Object.fromEntries(Object.entries(response.headers).filter(([name]) => !ofConnection.has(name)));
    reply.hijack();
    reply.raw.writeHead(response.statusCode ?? 502, { ...headers, "x-request-id": request.id });
    // The header is sent at once: the first event may come much later.
    reply.raw.flushHeaders();
    await pipeline(body === undefined ? response : Readable.from([body]), reply.raw).catch((error: Error) =>
      request.log.debug({ err: error }, "an answer of another machine was cut off"),
    );
    return true;
  }

  /** Calls another machine for a part of an answer. Returns the data of its envelope. Throws its failure, and machine_unreachable. */
  async ask(machine: Target, call: Pick<IncomingMessage, "method" | "url">, forwarded: Forwarded, withinMs: number): Promise<unknown> {
    const outgoing = this.#send(machine, { ...call, headers: {} }, forwarded, undefined);
    return answered(outgoing, machine, withinMs);
  }

  /** A connection of its own: those that are kept open may be from before the machine was lost. */
  async #probe(machine: Target): Promise<void> {
    const call = { method: operations.getHealth.method, url: operations.getHealth.path, headers: {} };
    const outgoing = this.#send(machine, call, { caller: null, requestId: "", address: "" }, undefined, true);
    await answered(outgoing, machine, probeMs).catch((error: Failure) => {
      // A refusal is a sign of life.
      if (error.code === "machine_unreachable") throw error;
    });
  }

  /** Cuts a call off if its machine is lost before the connection's end. */
  #watch(machine: Target, outgoing: ClientRequest): void {
    const ended = this.#open.add(machine, (cause) => {
      outgoing.destroy(cause);
      this.#agents.get(machine.number)?.destroy();
      this.#agents.delete(machine.number);
    });
    outgoing.once("close", ended);
    // The connection of a stream outlives its request.
    outgoing.once("upgrade", (_response, socket: Duplex) => {
      socket.once(
        "close",
        this.#open.add(machine, () => socket.destroy()),
      );
    });
  }

  /** Calls another machine. Returns the facts of its answer, and the stream of bytes behind them. Throws its failure, machine_unreachable, and the signal's reason. */
  async call(machine: Target, call: MachineCall, signal: AbortSignal): Promise<MachineAnswer> {
    signal.throwIfAborted();
    const forwarded: Forwarded = { caller: null, requestId: "", address: "" };
    const outgoing = this.#send(machine, { method: "POST", url: machineCallPath, headers: {} }, forwarded, JSON.stringify(call));
    const stop = () => outgoing.destroy();
    signal.addEventListener("abort", stop, { once: true });
    try {
      const answer = await answerOf(outgoing, machine);
      await refusal(machine, answer.response);
      const { facts, body } = await readMachineAnswer(answer.response);
      body.once("close", () => {
        signal.removeEventListener("abort", stop);
        outgoing.destroy();
      });
      return { facts, body: relabelled(body, (error) => (signal.aborted ? signal.reason : unreachable(machine, error, true))) };
    } catch (error) {
      signal.removeEventListener("abort", stop);
      outgoing.destroy();
      signal.throwIfAborted();
      throw error instanceof Failure ? error : unreachable(machine, error as Error, true);
    }
  }

  /** Opens a connection for the calls to parts of labs. Throws machine_unreachable. */
  async connectParts(machine: Target): Promise<Duplex> {
    const headers = { upgrade: partStreamsProtocol };
    const outgoing = this.#send(
      machine,
      { method: "GET", url: partStreamsPath, headers },
      { caller: null, requestId: "", address: "" },
      undefined,
    );
    this.#watch(machine, outgoing);
    const answer = await answerOf(outgoing, machine);
    if (!("socket" in answer)) {
      answer.response.resume();
      throw tooFarApart(
        machine,
        `the machine ${machine.name} has release ${machine.facts.version}, which has no parts of labs of other machines`,
      );
    }
    if (answer.head.length > 0) answer.socket.unshift(answer.head);
    return answer.socket;
  }

  #send(
    machine: Target,
    { method, url, headers }: Pick<IncomingMessage, "method" | "url" | "headers">,
    forwarded: Forwarded,
    text: string | undefined,
    isAlone = false,
  ): ClientRequest {
    const protocol = protocolWith(machine, this.#protocol);
    if (protocol === undefined) throw tooFarApart(machine, protocolProblem(machine, this.#protocol) ?? "");
    const isStream = headers.upgrade !== undefined && method === "GET";
    const names = isStream ? [...passed, ...passedOfUpgrades] : passed;
    const { hostname, port } = new URL(machine.url);
    const options: RequestOptions = {
      host: hostname.replace(/^\[|\]$/g, ""),
      port,
      method,
      path: url,
      headers: {
        ...Object.fromEntries(names.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]]))),
        ...(isStream && { connection: "Upgrade" }),
        [forwardedHeader]: forwardedText(forwarded),
        // A machine of the first releases has no use for it.
        ...(protocol > 1 && { [protocolHeader]: String(protocol) }),
        ...(text !== undefined && { "content-type": "application/json", "content-length": String(Buffer.byteLength(text)) }),
      },
      ...(isStream || isAlone ? { ...this.#tls(machine.number), agent: false } : { agent: this.#agent(machine.number) }),
    };
    const outgoing = send(options);
    outgoing.end(text);
    return outgoing;
  }

  #agent(number: number): Agent {
    const known = this.#agents.get(number);
    if (known !== undefined) return known;
    const agent = new Agent({ ...this.#tls(number), keepAlive: true, timeout: idleMs, noDelay: true, scheduling: "lifo" } as never);
    this.#agents.set(number, agent);
    return agent;
  }

  #tls(number: number) {
    return {
      ...memberTls(this.#credentials()),
      // The number identifies a machine; its address may change.
      checkServerIdentity: (_name: string, { subject }: PeerCertificate) =>
        subject.CN === subjectOf(number) ? undefined : new Error(`the certificate is not that of machine ${number}`),
    };
  }
}

/** Returns the body of an answer with status 404 or 405. Throws if it means that the other machine does not know an operation of this one's release. */
async function refusal(machine: Target, response: IncomingMessage): Promise<Buffer | undefined> {
  const { statusCode } = response;
  if (statusCode !== 404 && statusCode !== 405) return undefined;
  const body = await bytesOf(response).catch((error: Error) => Promise.reject(unreachable(machine, error, true)));
  if (/"code":"(not_found|method_not_allowed)"/.test(body.toString("utf8")))
    throw tooFarApart(
      machine,
      `the machine ${machine.name} has release ${machine.facts.version}, which does not have this operation: nothing was changed. Upgrade ${machine.name}`,
    );
  return body;
}

async function bytesOf(response: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

function tooFarApart({ name, seenAt }: Target, text: string): Failure {
  return new Failure("machine_unreachable", text, { data: { machine: name, seen_at: new Date(seenAt).toISOString() } });
}

type Answer =
  | { readonly response: IncomingMessage }
  | { readonly response: IncomingMessage; readonly socket: Duplex; readonly head: Buffer };

function answerOf(outgoing: ClientRequest, machine: Target): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let isConnected = false;
    const slow = setTimeout(() => outgoing.destroy(new Error(`no connection within ${connectMs} ms`)), connectMs);
    outgoing.once("socket", (socket) => {
      const connected = () => {
        isConnected = true;
        clearTimeout(slow);
      };
      if (outgoing.reusedSocket) connected();
      else socket.once("secureConnect", connected);
    });
    outgoing.once("response", (response) => resolve({ response }));
    outgoing.once("upgrade", (response, socket, head) => resolve({ response, socket, head }));
    outgoing.once("error", (error) => {
      clearTimeout(slow);
      reject(unreachable(machine, error, isConnected));
    });
  });
}

/** Returns the data of the envelope of an answer. Throws its failure, and machine_unreachable. */
async function answered(outgoing: ClientRequest, machine: Target, withinMs: number): Promise<unknown> {
  const late = setTimeout(() => outgoing.destroy(new Error(`no answer within ${withinMs} ms`)), withinMs);
  try {
    const answer = await answerOf(outgoing, machine);
    if ("socket" in answer) throw new Error("not a call for data");
    const text = (await refusal(machine, answer.response)) ?? (await bytesOf(answer.response));
    const envelope = JSON.parse(text.toString("utf8")) as { ok: boolean; data?: unknown; code?: string; error?: string };
    if (!envelope.ok) throw new Failure(envelope.code as "internal", envelope.error ?? "");
    return envelope.data;
  } catch (error) {
    throw error instanceof Failure ? error : unreachable(machine, error as Error, true);
  } finally {
    clearTimeout(late);
  }
}

function unreachable({ name, seenAt }: Target, cause: Error, isSent: boolean): Failure {
  const then = isSent
    ? "the connection to it ended before its answer: a change that it had begun may go on there (labwright jobs)"
    : `no connection to it${isOfClocks(cause) ? `, because a clock is wrong (${cause.message})` : ""}: nothing was changed`;
  const data = { machine: name, seen_at: new Date(seenAt).toISOString() };
  return new Failure("machine_unreachable", `the machine ${name} does not answer (its last report was at ${data.seen_at}); ${then}`, {
    data,
    cause,
    retryAfter: 5,
  });
}

/** Joins the client's connection to that of a stream on another machine. */
function join(
  { raw, id }: FastifyRequest,
  reply: FastifyReply,
  { response, socket, head }: { readonly response: IncomingMessage; readonly socket: Duplex; readonly head: Buffer },
): void {
  reply.hijack();
  if (!isUpgrade(raw)) throw new Error("an upgrade for a request that asked for none");
  const client = takeConnection(raw, reply.raw);
  const end = () => {
    socket.destroy();
    client.connection.destroy();
  };
  if (client.connection.destroyed) {
    end();
    return;
  }
  const lines = Object.entries(response.headers)
    .filter(([name]) => name !== "x-request-id")
    .map(([name, value]) => `${name}: ${String(value)}\r\n`);
  client.connection.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join("")}X-Request-Id: ${id}\r\n\r\n`);
  if (client.head.length > 0) client.connection.unshift(client.head);
  if (head.length > 0) socket.unshift(head);
  socket.on("error", end);
  // Not destroyed: what the machine sent before is still on its way to the client.
  socket.once("close", () => client.connection.end());
  client.connection.once("close", end);
  client.connection.pipe(socket).pipe(client.connection);
}
