import type { Socket } from "node:net";
import { failureEnvelope } from "../http/failures.ts";
import { newRequestId } from "../requests/request-id.ts";

/** The time that a refused client has to read its answer, ms. */
const lingerMs = 1_000;

/** Answers a client that does not speak TLS with 426 tls_required and closes its connection. `first`: the bytes that have already arrived. */
export function refusePlain(socket: Socket, first: Buffer): void {
  const body = JSON.stringify(failureEnvelope("tls_required", "this service speaks HTTPS only"));
  const head = [
    "HTTP/1.1 426 Upgrade Required",
    "Content-Type: application/json; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Upgrade: TLS/1.3, HTTP/1.1",
    "Connection: Upgrade, close",
    `X-Request-Id: ${newRequestId()}`,
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${first.toString("latin1", 0, 5) === "HEAD " ? "" : body}`);
  // Reads what the client still sends: closing with unread bytes resets the connection, and the client could lose the answer.
  socket.resume();
  const cut = setTimeout(() => socket.destroy(), lingerMs).unref();
  socket.once("close", () => clearTimeout(cut));
}
