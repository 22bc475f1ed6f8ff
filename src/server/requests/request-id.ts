import { randomUUID } from "node:crypto";

/** Returns an id for the X-Request-Id header and the log line of a request. The client's own id is never used: it could forge log lines. */
export function newRequestId(): string {
  return randomUUID();
}
