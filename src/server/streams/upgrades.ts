import { type IncomingMessage, ServerResponse } from "node:http";
import type { Server } from "node:https";
import type { Duplex } from "node:stream";
import { type OperationRow, operations } from "../../contract/operations.ts";
import type { Upgrade } from "../../service/common/call.ts";
import { lastAnswer } from "./last-answer.ts";
import { type WebSockets, webSocketProblem } from "./web-sockets.ts";

interface Pending {
  readonly connection: Duplex;
  readonly head: Buffer;
  /** The first supported protocol in the order of the request's header. */
  readonly protocol: "raw" | "websocket";
}

const pending = new WeakMap<IncomingMessage, Pending>();
/** Connections whose upgrade request has no answer yet. */
const asking = new WeakSet<Duplex>();

const streams = (Object.values(operations) as OperationRow[])
  .filter(({ answer }) => answer === "upgrade")
  .map(({ path, protocol }) => ({ prefix: path.slice(0, path.indexOf("{")), protocol }));

/** Returns whether a request asks for the upgrade that its path offers. HTTP allows a server to ignore any other Upgrade header. */
export function wantsStream(request: IncomingMessage): boolean {
  return request.method === "GET" && protocolOf(request) !== undefined;
}

function protocolOf(request: IncomingMessage): Pending["protocol"] | undefined {
  const stream = streams.find(({ prefix }) => request.url?.startsWith(prefix));
  if (stream === undefined) return undefined;
  const words = (request.headers.upgrade ?? "").toLowerCase().split(",");
  const taken = words.map((word) => word.trim()).find((word) => word === stream.protocol || word === "websocket");
  return taken === undefined ? undefined : taken === "websocket" ? "websocket" : "raw";
}

/** Routes upgrade requests like all other requests, so that a refusal has an envelope too. */
export function routeUpgrades(server: Server, route: (request: IncomingMessage, response: ServerResponse) => void): OpenStreams {
  const open = new OpenStreams();
  const begin = (request: IncomingMessage, connection: Duplex, head: Buffer) => {
    if (connection.destroyed) return;
    pending.set(request, { connection, head, protocol: protocolOf(request) ?? "raw" });
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(connection as Parameters<ServerResponse["assignSocket"]>[0]);
    response.once("finish", () => connection.end());
    route(request, response);
  };
  server.on("upgrade", (request: IncomingMessage, connection: Duplex, head: Buffer) => {
    open.add(connection);
    asking.add(connection);
    whenAnswered(connection, () => begin(request, connection, head));
  });
  return open;
}

/**
 * Calls `then` when the connection's earlier answers are completely sent. A client may send an upgrade together with other requests. It may also send one
 * when it has the last byte of an answer, which can be before Node has finished with that answer.
 */
function whenAnswered(connection: Duplex, then: () => void): void {
  const answer = lastAnswer(connection);
  if (answer === undefined || answer.closed || connection.destroyed) then();
  else answer.once("close", then);
}

/** Returns whether the request came as an upgrade that is not accepted yet. */
export function isUpgrade(request: IncomingMessage): boolean {
  return pending.has(request);
}

/** Returns whether the request asks for WebSocket frames. */
export function isWebSocket(request: IncomingMessage): boolean {
  return pending.get(request)?.protocol === "websocket";
}

/** Returns the problem of an upgrade request, if there is one. Checked before the ticket of the request is consumed. */
export function upgradeProblem(request: IncomingMessage, protocol: string | undefined): string | undefined {
  if (!isUpgrade(request)) return `needs the headers Connection: Upgrade and Upgrade: ${protocol} or websocket`;
  return isWebSocket(request) ? webSocketProblem(request) : undefined;
}

/** Answers 101 and gives the connection, raw or in frames, to the grant. Bytes that arrived early are delivered too. */
export function accept(
  request: IncomingMessage,
  response: ServerResponse,
  grant: Upgrade,
  headers: Readonly<Record<string, string>>,
  webSockets: WebSockets,
): void {
  const isFrames = isWebSocket(request);
  const { connection, head } = takeConnection(request, response);
  // The client has disconnected: the signal of the call, which observes the response, releases the grant.
  if (connection.destroyed) return;
  if (isFrames) {
    webSockets.accept(request, connection, head, grant, headers);
    return;
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  connection.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${grant.protocol}\r\n${lines.join("")}\r\n`);
  if (head.length > 0) connection.unshift(head);
  grant.attach(connection);
}

/**
 * Takes the connection of an upgrade request out of HTTP: the caller writes the answer. It is destroyed if the client has disconnected.
 * @returns head: bytes that arrived early
 */
export function takeConnection(request: IncomingMessage, response: ServerResponse): { readonly connection: Duplex; readonly head: Buffer } {
  const waiting = pending.get(request);
  if (waiting === undefined) throw new Error("not an upgrade request");
  pending.delete(request);
  const { connection } = waiting;
  asking.delete(connection);
  if (connection.readable && connection.writable) {
    response.removeAllListeners("finish");
    response.detachSocket(connection as Parameters<ServerResponse["detachSocket"]>[0]);
  } else connection.destroy();
  return waiting;
}

/** Connections that left HTTP. The server ends them when it closes, because it would wait for them forever. */
export class OpenStreams {
  readonly #connections = new Set<Duplex>();

  add(connection: Duplex): void {
    this.#connections.add(connection);
    connection.once("close", () => this.#connections.delete(connection));
    // A reset destroys the stream. The attached reader receives "close".
    connection.on("error", () => connection.destroy());
  }

  /** Ends the streams. Upgrade requests that have no answer yet still get one. */
  destroy(): void {
    for (const connection of this.#connections) if (!asking.has(connection)) connection.destroy();
  }
}
