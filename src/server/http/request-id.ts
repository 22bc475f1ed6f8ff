import { randomUUID } from "node:crypto";

/** The X-Request-Id of one answer; the same word stands in its log line. Never the client's own, which could forge lines. */
export function newRequestId(): string {
  return randomUUID();
}
