import type { IncomingMessage, ServerResponse } from "node:http";
import { operations } from "../../contract/operations.ts";
import { hostCount } from "./host-header.ts";
import { newRequestId } from "./request-id.ts";

const { path, aliases, method } = operations.getHealth;
const paths: ReadonlySet<string> = new Set([path, ...aliases]);

/** Told of each answer: the id it went out with, whom to, and how long it took. */
export type HealthAnswered = (requestId: string, address: string | undefined, ms: number) => void;

/**
 * Answers a plain GET of the health paths with `data` before the framework sees it: watchers ask it more often than anything else, and
 * routing and hooks cost more than the answer. Answers false, with nothing done, for every other request, and for one that came before the
 * answer to the last was read: the route says the same and knows whose turn it is.
 */
export function answerHealth(data: unknown, answered: HealthAnswered) {
  const body = JSON.stringify({ ok: true, data });
  const head = [
    ...["Cache-Control", "no-store"],
    ...["X-Content-Type-Options", "nosniff"],
    ...["Content-Type", "application/json; charset=utf-8"],
    ...["Content-Length", String(Buffer.byteLength(body))],
  ];
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    if (request.method !== method || !paths.has(request.url ?? "") || response.socket === null || !isPlain(request)) return false;
    const started = performance.now();
    const requestId = newRequestId();
    response.writeHead(200, ["X-Request-Id", requestId, ...head]);
    response.end(body);
    answered(requestId, request.socket.remoteAddress, performance.now() - started);
    return true;
  };
}

function isPlain({ headers, rawHeaders }: IncomingMessage): boolean {
  return (
    hostCount(rawHeaders) === 1 &&
    headers["content-length"] === undefined &&
    headers["transfer-encoding"] === undefined &&
    headers.expect === undefined &&
    headers.upgrade === undefined
  );
}
