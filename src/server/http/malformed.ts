import type { Socket } from "node:net";
import { newRequestId } from "../requests/request-id.ts";
import { lastAnswer, previousAnswer } from "../streams/last-answer.ts";
import { badRequest, failureEnvelope } from "./failures.ts";

const refused = new WeakSet<Socket>();

/** The time that a refused client has to read its answer and to close its connection, ms. */
const lingerMs = 1_000;

/**
 * Answers a request that Node's HTTP parser refused: such a request never reaches a route, or its body never ends for the route that reads it.
 * The answer is sent after the answers to earlier requests of the connection. Then the connection is closed.
 */
export function answerMalformed(error: Error & { readonly code?: string }, socket: Socket): void {
  // The parser reports further bytes of the same connection again.
  if (refused.has(socket)) return;
  // Failed handshakes and resets are reported here too. There is no client that could read an answer.
  if (!/^(HPE_|ERR_HTTP_REQUEST_TIMEOUT)/.test(error.code ?? "") || !socket.writable) {
    socket.destroy();
    return;
  }
  // The client never sent a byte. It would take an answer for the answer to its first request.
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && socket.bytesRead === 0) {
    socket.destroySoon();
    return;
  }
  refused.add(socket);
  const last = lastAnswer(socket);
  const isInBody = last?.req.complete === false;
  if (isInBody && last.headersSent) {
    // The request with the malformed body was already answered.
    socket.destroy();
    return;
  }
  const earlier = isInBody ? previousAnswer(last) : last;
  const answer = () => refuse(socket, malformation(error.code));
  if (earlier === undefined || earlier.writableFinished) answer();
  else earlier.once("finish", answer);
}

function refuse(socket: Socket, message: string): void {
  if (!socket.writable) return;
  const failure = badRequest([{ path: "", message }]);
  const body = JSON.stringify(failureEnvelope(failure.code, failure.message, failure.data));
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${newRequestId()}\r\n\r\n${body}`,
  );
  // Reads what is still on its way: closing with unread bytes resets the connection, and the client could lose the answer.
  socket.resume();
  const cut = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("end", () => socket.destroy()).once("close", () => clearTimeout(cut));
}

function malformation(code: string | undefined): string {
  if (code === "HPE_HEADER_OVERFLOW") return "the header is too large";
  return code === "ERR_HTTP_REQUEST_TIMEOUT" ? "the request took too long to arrive" : "not an HTTP/1.1 request";
}
