import type { Server as SecureServer } from "node:https";
import type { Socket } from "node:net";

const reportFullEveryMs = 60_000;
const freeEveryMs = 100;

/** Connections that have not sent a request yet, the oldest first. */
export class SilentConnections {
  /** Keyed by the client's address and port: the HTTPS server has another socket object for the same connection. */
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

  /** Adds a connection. Returns the function that removes it. @param onEnd called if the connection is ended here */
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

/** The limit of open connections. Near the limit, idle connections and those that never sent a request are closed for new ones. */
export class ConnectionSlots {
  readonly #secure: SecureServer;
  readonly #max: number;
  readonly #silent: SilentConnections;
  readonly #onFull: () => void;
  #reportedAt = Number.NEGATIVE_INFINITY;
  #freedAt = Number.NEGATIVE_INFINITY;

  /** @param onFull called when the limit is reached, at most once a minute */
  constructor(secure: SecureServer, max: number, silent: SilentConnections, onFull: () => void) {
    this.#secure = secure;
    this.#max = max;
    this.#silent = silent;
    this.#onFull = onFull;
  }

  /** Returns whether one more connection may be opened. @param open the number of open connections */
  hasFree(open: () => number): boolean {
    const now = performance.now();
    if (open() >= this.#max * 0.9 && now - this.#freedAt >= freeEveryMs) {
      this.#freedAt = now;
      this.#secure.closeIdleConnections();
    }
    if (open() < this.#max) return true;
    this.#silent.endOldest();
    if (now - this.#reportedAt >= reportFullEveryMs) {
      this.#reportedAt = now;
      this.#onFull();
    }
    return open() < this.#max;
  }
}
