import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Caller } from "../../service/common/call.ts";
import type { PlacementFacts } from "../../service/common/elsewhere.ts";

/** Header of a call that another machine of the fleet passes on. It counts only on a connection with the certificate of a machine. */
export const forwardedHeader = "labwright-forwarded";

/** Header of such a call and of its answer: the number of the protocol between machines. Absent: 1. */
export const protocolHeader = "labwright-protocol";

/** Header of an answer: the machine does not own the lab, so the sender looks for its owner again. */
export const notOwnerHeader = "labwright-not-owner";

export interface Forwarded {
  /** The caller, whom the sender has authenticated; null for an operation that needs none. */
  readonly caller: Caller | null;
  readonly requestId: string;
  /** Address of the client. */
  readonly address: string;
  /** Present in a call about a new lab: the facts that decide which machine gets it. */
  readonly placement?: PlacementFacts;
}

/** Connections of other machines, by their number. */
const members = new WeakMap<Duplex, number>();

export function noteMember(connection: Duplex, number: number): void {
  members.set(connection, number);
}

/** Returns the number of the machine of the fleet that has the other end of a connection. */
export function memberNumber(connection: Duplex): number | undefined {
  return members.get(connection);
}

export function forwardedText(forwarded: Forwarded): string {
  return Buffer.from(JSON.stringify(forwarded)).toString("base64url");
}

/** Returns what a machine of the fleet sent with a call; undefined for a call of a client. */
export function forwardedOf(request: IncomingMessage): Forwarded | undefined {
  const text = request.headers[forwardedHeader];
  if (typeof text !== "string" || !members.has(request.socket)) return undefined;
  try {
    const sent: unknown = JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
    // Of a machine of another release, or a damaged one. Without a caller, the call is refused.
    return typeof sent === "object" && sent !== null && "caller" in sent && typeof sent.caller === "object"
      ? (sent as Forwarded)
      : undefined;
  } catch {
    return undefined;
  }
}
