import type { Duplex } from "node:stream";
import type { UpgradeGrant } from "../../contract/operations.ts";
import type { TokenScope } from "../../contract/token-scopes.ts";
import type { PlacementFacts } from "./elsewhere.ts";

/** Context of a request, passed from the server to a use case. */
export interface Call {
  /** X-Request-Id; also in log lines. */
  readonly requestId: string;
  /** Aborted when the client disconnects or the server closes. */
  readonly signal: AbortSignal;
  /** The peer's address, for throttling only. */
  readonly address: string;
  /** The browser's current cookie value, if the request creates a new cookie. */
  readonly cookie?: string;
  /** Another machine of the fleet passes it on: an answer is about this machine alone. */
  readonly isForwarded?: boolean;
  /** Present in a forwarded call about a new lab: the facts that decide which machine gets it. */
  readonly placement?: PlacementFacts;
  /** Prefer: respond-async was given. */
  readonly respondAsync: boolean;
  /** The header Idempotency-Key, unchecked. */
  readonly idempotencyKey?: string;
  /** Called with the path of the lab that the call is about, also if the call is refused. */
  readonly onLab?: (path: string) => void;
  /** Called with the job id of the change. */
  readonly started?: (job: string) => void | Promise<void>;
}

/** Options of a call that starts a change. */
export type ChangeCall = Pick<Call, "respondAsync" | "started"> & Partial<Pick<Call, "signal">>;

/** A caller with a valid token. */
export interface Caller {
  readonly user: string;
  readonly role: "admin" | "user" | "viewer";
  /** SHA-256 of the token, hex. Records identify the session by it, never by the token itself. */
  readonly session: string;
  /** Present for an API token: the most that it may do with any lab. It may not manage tokens. */
  readonly limit?: "view" | "operate" | "own";
  /** Present for an API token. */
  readonly apiToken?: {
    readonly id: string;
    readonly name: string;
    readonly scope: TokenScope;
    /** Patterns of the paths of labs to which it is limited. */
    readonly labs?: readonly string[];
  };
}

/** A granted upgrade: the server answers 101 and hands over the raw connection; attach owns it from then on. */
export interface Upgrade extends UpgradeGrant {
  readonly attach: (connection: Duplex) => void;
  /** Sets the console's window size; absent if the stream has none. */
  readonly resize?: (columns: number, rows: number) => void;
}

/** A browser session, which the server sends as a cookie. */
export interface BrowserGrant {
  /** The cookie's value. */
  readonly cookie: string;
  /** RFC 3339. */
  readonly expires_at: string;
}
