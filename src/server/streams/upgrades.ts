import { type IncomingMessage, ServerResponse } from "node:http";
import type { Server } from "node:https";
import type { Duplex } from "node:stream";
import { type OperationRow, operations } from "../../contract/operations.ts";
import type { Upgrade } from "../../service/common/call.ts";
import { type WebSockets, webSocketProblem } from "./web-sockets.ts";

interface Pending {
  readonly connection: Duplex;
  readonly head: Buffer;
  /** In the request's own order of preference. */
  readonly protocol: "raw" | "websocket";
}

const pending = new WeakMap<IncomingMessage, Pending>();
/** Connections whose request has no answer yet. */
const asking = new WeakSet<Duplex>();

const streams = (Object.values(operations) as OperationRow[])
  .filter(({ answer }) => answer === "upgrade")
  .map(({ path, protocol }) => ({ prefix: path.slice(0, path.indexOf("{")), protocol }));

/** Whether a request asks for the upgrade that its path offers; any other Upgrade header is ignored, as HTTP allows. */
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

/** Sends upgrade requests through the same routing as all others, so that a refused one is answered with its envelope. */
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
 * A client may send an upgrade along with other requests, or as soon as it has the last byte of an answer, which is before that answer has ended here. Node
 * keeps the answer that a connection is at in `_httpMessage`; to note it ourselves for every request would cost a tenth of what the quickest ones take.
 */
function whenAnswered(connection: Duplex & { readonly _httpMessage?: ServerResponse | null }, then: () => void): void {
  const answer = connection._httpMessage;
  if (answer === undefined || answer === null || connection.destroyed) then();
  else answer.once("close", () => whenAnswered(connection, then));
}

/** The connection of a request that came as an upgrade. */
export function isUpgrade(request: IncomingMessage): boolean {
  return pending.has(request);
}

/** Whether it asks for WebSocket frames. */
export function isWebSocket(request: IncomingMessage): boolean {
  return pending.get(request)?.protocol === "websocket";
}

/** What is wrong with the way that an upgrade is asked for; looked at before its ticket is used up. */
export function upgradeProblem(request: IncomingMessage, protocol: string | undefined): string | undefined {
  if (!isUpgrade(request)) return `needs the headers Connection: Upgrade and Upgrade: ${protocol} or websocket`;
  return isWebSocket(request) ? webSocketProblem(request) : undefined;
}

/** Answers 101 and gives the connection, raw or in frames, with the bytes that came early, to the grant. */
export function accept(
  request: IncomingMessage,
  response: ServerResponse,
  grant: Upgrade,
  headers: Readonly<Record<string, string>>,
  webSockets: WebSockets,
): void {
  const waiting = pending.get(request);
  if (waiting === undefined) throw new Error("not an upgrade request");
  pending.delete(request);
  const { connection, head, protocol } = waiting;
  asking.delete(connection);
  if (!connection.readable || !connection.writable) {
    // It went away meanwhile: the call's signal, which watches the response, frees what was granted.
    connection.destroy();
    return;
  }
  response.removeAllListeners("finish");
  response.detachSocket(connection as Parameters<ServerResponse["detachSocket"]>[0]);
  if (protocol === "websocket") {
    webSockets.accept(request, connection, head, grant, headers);
    return;
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  connection.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${grant.protocol}\r\n${lines.join("")}\r\n`);
  if (head.length > 0) connection.unshift(head);
  grant.attach(connection);
}

/** Connections that left HTTP: they must be ended at close, or it would wait for them for ever. */
export class OpenStreams {
  readonly #connections = new Set<Duplex>();

  add(connection: Duplex): void {
    this.#connections.add(connection);
    connection.once("close", () => this.#connections.delete(connection));
    // A reset ends the stream: "close" follows, and whoever is attached hears it.
    connection.on("error", () => connection.destroy());
  }

  /** Ends the streams; who still waits for one is answered. */
  destroy(): void {
    for (const connection of this.#connections) if (!asking.has(connection)) connection.destroy();
  }
}
