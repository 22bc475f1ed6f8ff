import type { ChangeOperationId, DataOf, OperationId, RequestOf, StreamOperationId } from "../contract/operations.ts";
import type { JobStarted } from "../contract/schemas/jobs.ts";
import type { ExternalIdentity } from "../hosts/host.ts";
import type { BrowserGrant, Call, Caller, Upgrade } from "./common/call.ts";
import type { MachineAnswer, MachineCall } from "./common/fleet-calls.ts";
import type { EndedRequest } from "./metrics/metrics.ts";

/** Result of a handler: data of the contract; for a stream also how to attach; for a change possibly its job instead. */
export type AnswerOf<Id extends OperationId> = Id extends StreamOperationId
  ? Upgrade
  : Id extends "createBrowserSession"
    ? BrowserGrant
    : Id extends ChangeOperationId
      ? DataOf<Id> | JobStarted
      : DataOf<Id>;

/** Operations that the server answers without the service. */
export type ServedOperationId = Exclude<OperationId, "getOpenApi">;

/** One handler per operation of the contract: a missing one does not compile. Throws Failure for every expected error. */
export type Handlers = {
  readonly [Id in ServedOperationId]: (request: RequestOf<Id>, caller: Caller | null, call: Call) => Promise<AnswerOf<Id>>;
};

export interface Service {
  readonly handlers: Handlers;
  /**
   * The caller of a bearer token. Throws unauthenticated or expired_agent_session, and rate_limited for unknown API tokens.
   * @param address of the peer, for the limit of unknown API tokens
   */
  authenticate(token: string | undefined, address?: string): Caller;
  /** The caller of a browser session's cookie. Throws as authenticate. */
  authenticateBrowser(cookie: string): Caller;
  /** The caller of a call that another machine of the fleet passes on, with the rights of now. Throws as authenticate. */
  passedOn(caller: Caller): Caller;
  /**
   * Signs in a user whom a provider has identified: returns the URL fragment that signs a browser in. The caller has checked the provider's answer. Throws
   * unsupported if the host has no such users.
   */
  signInBrowser(identity: ExternalIdentity): Promise<{ readonly user: string; readonly fragment: string }>;
  /** The same for a program: returns the code for finishLogin. `challenge`: SHA-256 of its secret, base64url. */
  signInProgram(identity: ExternalIdentity, challenge: string): Promise<{ readonly user: string; readonly code: string }>;
  /** Time since the last answer of the database, ms, if it does not answer: reads come from memory. */
  storeSilentMs(): number | undefined;
  /** Answers a call of another machine of the fleet, by its number. */
  readonly answerMachine: (from: number, call: MachineCall, signal: AbortSignal) => Promise<MachineAnswer>;
  /** Called at the end of each request, for the metrics. */
  requestEnded(request: EndedRequest): void;
  /**
   * Starts to finish interrupted jobs, or rolls them back. Called once before the server listens. Settles when all jobs have ended; the server need not
   * wait for that, only for `begun`, which is called when their labs are busy.
   */
  recover(begun?: () => void): Promise<void>;
  /** Looks at the leases of all labs, as the service does by itself every 15 s after `recover`. Resolves when labs whose leases are over have ended. For tests. */
  lookAtLeases(): Promise<void>;
  /** Starts labs of lost machines and ends labs that this machine has lost, as the service does by itself every 3 s after `recover`. Resolves when that is done. For tests. */
  lookAtMachines(): Promise<void>;
  /** Starts a worker thread in advance, so that the first large intent need not wait for it. */
  keepReady(): void;
  close(): Promise<void>;
}
