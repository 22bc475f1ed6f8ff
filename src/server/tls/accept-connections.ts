import type { Server as SecureServer } from "node:https";
import type { Socket } from "node:net";
import { ConnectionSlots, SilentConnections } from "./connection-slots.ts";
import { refusePlain } from "./refuse-plain.ts";

export interface AcceptOptions {
  /** The time that a client has to send its first byte, ms. */
  readonly waitMs: number;
  readonly maxConnections: number;
  /** Called when `maxConnections` is reached, at most once a minute. */
  readonly onFull: () => void;
}

export interface AcceptedConnections {
  /** Ends every open connection. */
  destroy(): void;
}

/** The first byte of a TLS handshake record. */
const tlsHandshake = 0x16;

/**
 * Puts two checks in front of the HTTPS server's own handling of new connections, so that one port serves every client:
 * - A connection whose first byte does not begin a TLS handshake gets 426 tls_required and is closed.
 * - If `maxConnections` are open, a new connection replaces the oldest that never sent a request. Without such a connection, the new one is closed.
 */
export function acceptConnections(secure: SecureServer, { waitMs, maxConnections, onFull }: AcceptOptions): AcceptedConnections {
  const startTls = secure.listeners("connection");
  secure.removeAllListeners("connection");
  const open = new Set<Socket>();
  const silent = new SilentConnections(secure);
  const slots = new ConnectionSlots(secure, maxConnections, silent, onFull);
  secure.on("connection", (socket: Socket) => {
    if (!slots.hasFree(() => open.size)) {
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
    socket.once("error", cut);
    socket.once("readable", () => {
      const first: Buffer | null = socket.read();
      if (first === null) return;
      socket.setTimeout(0);
      socket.removeListener("timeout", cut);
      if (first[0] !== tlsHandshake) {
        refusePlain(socket, first);
        return;
      }
      socket.unshift(first);
      for (const start of startTls) start.call(secure, socket);
    });
  });
  return {
    destroy: () => {
      for (const socket of open) socket.destroy();
    },
  };
}
