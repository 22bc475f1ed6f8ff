import { type IncomingMessage, ServerResponse } from "node:http";
import type { Server } from "node:https";
import type { Duplex } from "node:stream";
import { type OperationRow, operations } from "../contract/operations.ts";
import type { Upgrade } from "../service/service.ts";

interface Pending {
  readonly connection: Duplex;
  readonly head: Buffer;
}

const pending = new WeakMap<IncomingMessage, Pending>();

const streams = (Object.values(operations) as OperationRow[])
  .filter(({ answer }) => answer === "upgrade")
  .map(({ path, protocol }) => ({ prefix: path.slice(0, path.indexOf("{")), protocol }));

/** Whether a request asks for the upgrade that its path offers; any other Upgrade header is ignored, as HTTP allows. */
export function wantsStream(request: IncomingMessage): boolean {
  const words = (request.headers.upgrade ?? "").toLowerCase().split(",");
  return (
    request.method === "GET" &&
    streams.some(({ prefix, protocol }) => request.url?.startsWith(prefix) === true && words.some((word) => word.trim() === protocol))
  );
}

/** Sends upgrade requests through the same routing as all others, so that a refused one is answered with its envelope. */
export function routeUpgrades(server: Server, route: (request: IncomingMessage, response: ServerResponse) => void): OpenStreams {
  const open = new OpenStreams();
  server.on("upgrade", (request: IncomingMessage, connection: Duplex, head: Buffer) => {
    open.add(connection);
    pending.set(request, { connection, head });
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(connection as Parameters<ServerResponse["assignSocket"]>[0]);
    response.once("finish", () => connection.end());
    route(request, response);
  });
  return open;
}

/** The connection of a request that came as an upgrade. */
export function isUpgrade(request: IncomingMessage): boolean {
  return pending.has(request);
}

/** Answers 101 and gives the raw connection, with the bytes that came early, to the grant. */
export function accept(
  request: IncomingMessage,
  response: ServerResponse,
  grant: Upgrade,
  headers: Readonly<Record<string, string>>,
): void {
  const waiting = pending.get(request);
  if (waiting === undefined) throw new Error("not an upgrade request");
  pending.delete(request);
  const { connection, head } = waiting;
  response.removeAllListeners("finish");
  response.detachSocket(connection as Parameters<ServerResponse["detachSocket"]>[0]);
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

  destroy(): void {
    for (const connection of this.#connections) connection.destroy();
  }
}
