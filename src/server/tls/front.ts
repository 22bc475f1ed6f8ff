import { createServer as createPlainServer } from "node:http";
import type { Server as SecureServer } from "node:https";
import { createServer, type Server, type Socket } from "node:net";
import { failureEnvelope } from "../http/failures.ts";
import { newRequestId } from "../http/request-id.ts";

export interface Front {
  readonly server: Server;
  /** Ends every open connection. */
  destroy(): void;
}

const tlsHandshake = 0x16;

/**
 * The one port: a connection whose first byte begins a TLS handshake goes to the HTTPS server, any other is told 426 tls_required
 * and closed. A client that does not finish its first byte or its plain header in `waitMs` is cut off. If all `maxConnections` are
 * taken, a new one takes the place of the oldest that never sent a request, or is closed at once, which `onFull` is told at most once a minute.
 */
export function createFront(secure: SecureServer, waitMs: number, maxConnections: number, onFull: () => void): Front {
  const open = new Set<Socket>();
  const silent = new SilentConnections(secure);
  const room = new Room(secure, maxConnections, silent, onFull);
  const plain = refusingServer(waitMs);
  const server = createServer({ noDelay: true, pauseOnConnect: false }, (socket) => {
    if (!room.has(() => open.size)) {
      socket.destroy();
      return;
    }
    open.add(socket);
    const forget = silent.add(socket, () => open.delete(socket));
    socket.once("close", () => {
      open.delete(socket);
      forget();
    });
    const cut = () => socket.destroy();
    socket.setTimeout(waitMs, cut);
    // A reset before the first byte concerns nobody; the server that takes the connection adds its own listener.
    socket.once("error", cut);
    socket.once("readable", () => {
      const first: Buffer | null = socket.read();
      if (first === null) return;
      socket.unshift(first);
      socket.setTimeout(0);
      socket.removeListener("timeout", cut);
      (first[0] === tlsHandshake ? secure : plain).emit("connection", socket);
    });
  });
  server.once("close", () => plain.close());
  return {
    server,
    destroy: () => {
      for (const socket of open) socket.destroy();
    },
  };
}

const tellFullEveryMs = 60_000;
const freeEveryMs = 100;

/** Connections that have not sent a request yet, the oldest first. */
class SilentConnections {
  /** By the client's address and port, as the HTTPS server has a socket of its own for each. */
  readonly #silent = new Map<string, () => void>();

  constructor(secure: SecureServer) {
    const asked = new WeakSet<Socket>();
    const ask = ({ socket }: { readonly socket: Socket }) => {
      if (asked.has(socket)) return;
      asked.add(socket);
      this.#silent.delete(clientOf(socket));
    };
    secure.on("request", ask);
    secure.on("upgrade", ask);
  }

  /** @param onEnd called if the connection is ended here. Returns the function that forgets it. */
  add(socket: Socket, onEnd: () => void): () => void {
    const client = clientOf(socket);
    const end = () => {
      onEnd();
      socket.destroy();
    };
    this.#silent.set(client, end);
    return () => {
      if (this.#silent.get(client) === end) this.#silent.delete(client);
    };
  }

  endOldest(): void {
    const [oldest] = this.#silent;
    if (oldest === undefined) return;
    this.#silent.delete(oldest[0]);
    oldest[1]();
  }
}

function clientOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Room for connections. When it gets scarce, those that wait idle for a next request, or never sent one, make room for new ones. */
class Room {
  readonly #secure: SecureServer;
  readonly #most: number;
  readonly #onFull: () => void;
  #told = Number.NEGATIVE_INFINITY;
  #freed = Number.NEGATIVE_INFINITY;

  readonly #silent: SilentConnections;

  constructor(secure: SecureServer, most: number, silent: SilentConnections, onFull: () => void) {
    this.#secure = secure;
    this.#silent = silent;
    this.#most = most;
    this.#onFull = onFull;
  }

  has(open: () => number): boolean {
    const now = performance.now();
    if (open() >= this.#most * 0.9 && now - this.#freed >= freeEveryMs) {
      this.#freed = now;
      this.#secure.closeIdleConnections();
    }
    if (open() < this.#most) return true;
    this.#silent.endOldest();
    if (now - this.#told >= tellFullEveryMs) {
      this.#told = now;
      this.#onFull();
    }
    return open() < this.#most;
  }
}

function refusingServer(waitMs: number) {
  const answer = () => {
    const requestId = newRequestId();
    const body = JSON.stringify(failureEnvelope("tls_required", "this service speaks HTTPS only"));
    const headers = {
      "Content-Type": "application/json; charset=utf-8",
      "Content-Length": String(Buffer.byteLength(body)),
      Upgrade: "TLS/1.3, HTTP/1.1",
      Connection: "Upgrade, close",
      "X-Request-Id": requestId,
    };
    return { headers, body };
  };
  const server = createPlainServer(
    { connectionsCheckingInterval: Math.min(waitMs, 1000), requireHostHeader: false },
    (request, response) => {
      const { headers, body } = answer();
      response.shouldKeepAlive = false;
      response.writeHead(426, headers);
      response.end(request.method === "HEAD" ? undefined : body);
      // What the client still sends is read for a moment, so that a reset does not overtake the answer.
      request.resume();
      setTimeout(() => request.socket.destroy(), 1000).unref();
    },
  );
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
  server.headersTimeout = waitMs;
  server.requestTimeout = waitMs;
  // As in start.ts: without this event no time-out is watched.
  server.emit("listening");
  server.on("clientError", (_error, socket) => {
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    socket.once("timeout", () => socket.destroy());
    (socket as Socket).setTimeout(1000);
    const { headers, body } = answer();
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 426 Upgrade Required\r\n${lines.join("")}\r\n${body}`, () => socket.destroy());
  });
  return server;
}
