import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Requests of one connection that are worked on at once: their answers wait in memory until the client has read those before them. */
const most = 8;

interface Line {
  busy: number;
  readonly waiting: (() => void)[];
}

const lines = new WeakMap<Socket, Line>();

/**
 * Resolves when it is a request's turn. Requests that a client sends without waiting for answers come many in one packet; worked on all
 * at once, their answers would fill the memory of the process as fast as a client that reads nothing can ask.
 */
export function turnOf(socket: Socket, response: ServerResponse): Promise<void> | undefined {
  const line = lines.get(socket) ?? { busy: 0, waiting: [] };
  lines.set(socket, line);
  const begin = () => {
    line.busy++;
    response.once("close", () => {
      line.busy--;
      // Nobody is left to answer to.
      if (!socket.destroyed) line.waiting.shift()?.();
    });
  };
  if (line.busy < most && line.waiting.length === 0) {
    begin();
    return undefined;
  }
  return new Promise((resolve) => {
    line.waiting.push(() => {
      begin();
      resolve();
    });
  });
}
