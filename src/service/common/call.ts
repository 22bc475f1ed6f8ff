import type { Duplex } from "node:stream";
import type { UpgradeGrant } from "../../contract/operations.ts";

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
