import type { Duplex } from "node:stream";
import type { ChangeOperationId, DataOf, OperationId, RequestOf, StreamOperationId, UpgradeGrant } from "../contract/operations.ts";
import type { JobStarted } from "../contract/schemas/jobs.ts";
import type { EndedRequest } from "./metrics/metrics.ts";

/** What the server hands to a use case with each request. */
export interface Call {
  /** X-Request-Id; also in log lines. */
  readonly requestId: string;
  /** Aborted when the client went away or the server closes. */
  readonly signal: AbortSignal;
  /** The peer's address, for throttling only. */
  readonly address: string;
  /** The value of the browser's cookie, where the request makes another. */
  readonly cookie?: string;
  /** Prefer: respond-async was given. */
  readonly respondAsync: boolean;
  /** The header Idempotency-Key, as it came. */
  readonly idempotencyKey?: string;
  /** Told the id of the job that a change becomes. */
  readonly started?: (job: string) => void;
}

/** What a change needs to know of its call. */
export type ChangeCall = Pick<Call, "respondAsync" | "started"> & Partial<Pick<Call, "signal">>;

/** A caller who showed a valid token. */
export interface Caller {
  readonly user: string;
  readonly role: "admin" | "user" | "viewer";
  /** SHA-256 of the token, hex: names the session in records, never the token itself. */
  readonly session: string;
}

/** A granted upgrade: the server answers 101 and hands over the raw connection; attach owns it from then on. */
export interface Upgrade extends UpgradeGrant {
  readonly attach: (connection: Duplex) => void;
  /** Tells the console its window size; absent where the stream has none. */
  readonly resize?: (columns: number, rows: number) => void;
}

/** A browser session: the server makes a cookie of it. */
export interface BrowserGrant {
  /** The cookie's value. */
  readonly cookie: string;
  /** RFC 3339. */
  readonly expires_at: string;
}

/** What a handler gives: data of the contract; a stream also how to attach; a change may give its job instead. */
export type AnswerOf<Id extends OperationId> = Id extends StreamOperationId
  ? Upgrade
  : Id extends "createBrowserSession"
    ? BrowserGrant
    : Id extends ChangeOperationId
      ? DataOf<Id> | JobStarted
      : DataOf<Id>;

/** The server answers these by itself. */
export type ServedOperationId = Exclude<OperationId, "getOpenApi">;

/** One handler per operation of the contract: a missing one does not compile. Throws Failure for every expected error. */
export type Handlers = {
  readonly [Id in ServedOperationId]: (request: RequestOf<Id>, caller: Caller | null, call: Call) => Promise<AnswerOf<Id>>;
};

export interface Service {
  /** What getHealth answers for as long as the service runs: watchers are answered without a handler. */
  readonly health: DataOf<"getHealth">;
  readonly handlers: Handlers;
  /** The caller of a bearer token. Throws unauthenticated or expired_agent_session. */
  authenticate(token: string | undefined): Caller;
  /** The caller of a browser session's cookie. Throws as authenticate. */
  authenticateBrowser(cookie: string): Caller;
  /** Told of each request that ended, for the metrics. */
  requestEnded(request: EndedRequest): void;
  /**
   * Begins to finish jobs that a crash cut off, or rolls them back. Called once before the server listens: then their labs are busy for everyone
   * else. Settles when all have ended; nobody has to wait for that.
   */
  recover(): Promise<void>;
  /** Starts what the first large intent would have to wait for. */
  keepReady(): void;
  close(): Promise<void>;
}
