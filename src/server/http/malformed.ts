import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { badRequest, failureEnvelope } from "./failures.ts";
import { newRequestId } from "./request-id.ts";

/** The answer to the last request of a connection that had a header as it should be. A property: a map would cost each request more. */
const last = Symbol("last answer");
/** Of an answer: the one before, where it was not through when this one began. */
const before = Symbol("answer before");

interface Noted {
  [last]?: ServerResponse & NotedAnswer;
}
interface NotedAnswer {
  [before]?: ServerResponse | undefined;
}

const refused = new WeakSet<Socket>();

/** How long a refused client may take to read its answer and to end, ms. */
const lingerMs = 1_000;

/** Remembers what a connection was last asked, so that answerMalformed knows whose turn it is. */
export function noteRequest(request: IncomingMessage, response: ServerResponse & NotedAnswer): void {
  const socket = request.socket as Noted;
  const known = socket[last];
  if (known?.writableFinished === false) {
    response[before] = known;
    // Only the last answer is asked for the one before it: a chain would keep them all.
    known[before] = undefined;
  }
  socket[last] = response;
}

/**
 * What the HTTP parser refuses never reaches a route, or never ends for the route that reads it: it gets its envelope here, after the
 * answers before it, and the connection ends.
 */
export function answerMalformed(error: Error & { readonly code?: string }, socket: Socket): void {
  // What still comes on the connection is refused again and again.
  if (refused.has(socket)) return;
  // Failed handshakes and resets come here too: nobody is there to read an answer.
  if (!/^(HPE_|ERR_HTTP_REQUEST_TIMEOUT)/.test(error.code ?? "") || !socket.writable) {
    socket.destroy();
    return;
  }
  // It never asked for anything: an answer would be taken for that to its first request.
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && socket.bytesRead === 0) {
    socket.destroySoon();
    return;
  }
  refused.add(socket);
  const answered = (socket as Noted)[last];
  const bodyIsIt = answered?.req.complete === false;
  if (bodyIsIt && answered.headersSent) {
    // It has its answer already.
    socket.destroy();
    return;
  }
  const wait = bodyIsIt ? answered[before] : answered;
  const answer = () => refuse(socket, malformation(error.code));
  if (wait === undefined || wait.writableFinished) answer();
  else wait.once("finish", answer);
}

function refuse(socket: Socket, message: string): void {
  if (!socket.writable) return;
  const failure = badRequest([{ path: "", message }]);
  const body = JSON.stringify(failureEnvelope(failure.code, failure.message, failure.data));
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${newRequestId()}\r\n\r\n${body}`,
  );
  // What is still on its way is read: closing before would reset the connection, and the answer could be lost.
  socket.resume();
  const cut = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("end", () => socket.destroy()).once("close", () => clearTimeout(cut));
}

function malformation(code: string | undefined): string {
  if (code === "HPE_HEADER_OVERFLOW") return "the header is too large";
  return code === "ERR_HTTP_REQUEST_TIMEOUT" ? "the request took too long to arrive" : "not an HTTP/1.1 request";
}
