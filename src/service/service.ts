import type { Duplex } from "node:stream";
import type { DataOf, OperationId, RequestOf } from "../contract/operations.ts";

/** What the server hands to a use case with each request. */
export interface Call {
  /** X-Request-Id; also in log lines. */
  readonly requestId: string;
  /** Aborted when the client went away or the server closes. */
  readonly signal: AbortSignal;
  /** The peer's address, for throttling only. */
  readonly address: string;
  /** Prefer: respond-async was given. */
  readonly respondAsync: boolean;
}

/** A caller who showed a valid token. */
export interface Caller {
  readonly user: string;
  readonly role: "admin" | "user" | "viewer";
  /** SHA-256 of the token, hex: names the session in records, never the token itself. */
  readonly session: string;
}

/** A granted upgrade: the server answers 101 and hands over the raw connection; attach owns it from then on. */
export interface Upgrade {
  readonly protocol: "host-telnet" | "host-traffic";
  readonly attach: (connection: Duplex) => void;
}

/** One handler per operation of the contract: a missing one does not compile. Throws Failure for every expected error. */
export type Handlers = {
  readonly [Id in OperationId]: (request: RequestOf<Id>, caller: Caller | null, call: Call) => Promise<DataOf<Id>>;
};

export interface Service {
  readonly handlers: Handlers;
  /** The caller of a bearer token. Throws unauthenticated or expired_agent_session. */
  authenticate(token: string | undefined): Caller;
  /** Finishes or rolls back jobs that a crash cut off, adopts running labs. Called once before the server listens. */
  recover(): Promise<void>;
  close(): Promise<void>;
}
