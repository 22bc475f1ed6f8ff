import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { forwardedOf } from "../forwarding/forwarded.ts";

/** Returns an id for the X-Request-Id header and the log line of a request. The client's own id is never used: it could forge log lines. That of another machine of the fleet is. */
export function newRequestId(request?: IncomingMessage): string {
  return (request && forwardedOf(request)?.requestId) ?? randomUUID();
}
