import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** For each connection: the answer to its last request. The objects are changed in place: a new entry for each request would take the garbage collector long. */
const connections = new WeakMap<Duplex, { last: ServerResponse }>();
/** For an answer that began before the previous one on its connection was written: that previous answer. */
const previous = new WeakMap<ServerResponse, ServerResponse>();

/** Records the request as the last one of its connection. Returns whether it came before the answer to the previous one was written. */
export function noteRequest(request: IncomingMessage, response: ServerResponse): boolean {
  const { socket } = request;
  const connection = connections.get(socket);
  if (connection === undefined) {
    connections.set(socket, { last: response });
    return false;
  }
  const known = connection.last;
  connection.last = response;
  if (known.writableFinished) return false;
  previous.set(response, known);
  // Only the predecessor of the last answer is needed: a chain would keep all of them in memory.
  previous.delete(known);
  return true;
}

/** The answer to the last request of a connection; `undefined` before the first request. */
export function lastAnswer(connection: Duplex): ServerResponse | undefined {
  return connections.get(connection)?.last;
}

/** The answer before this one, if it was not completely written when this one began. */
export function previousAnswer(answer: ServerResponse): ServerResponse | undefined {
  return previous.get(answer);
}
