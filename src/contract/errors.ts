import type { CommonErrorData, ErrorDataTable } from "./schemas/error-data.ts";

/**
 * Every error code of API v1, its HTTP status and its cause. Routes, SDK, OpenAPI and docs/errors.md use the codes of
 * this table (a test compares them both ways). Append-only.
 */
export interface ErrorRow {
  /** HTTP status; 0 for errors that the client raises by itself. */
  readonly status: number;
  /** HTTP status of an answer with this code, if clients also raise the code by themselves. */
  readonly answerStatus?: number;
  readonly when: string;
  /** Default Retry-After, seconds. */
  readonly retryAfter?: number;
}

export const errors = {
  bad_request: { status: 400, when: "malformed JSON, wrong type, missing required field; data.problems lists them all" },
  unknown_field: { status: 400, when: "unknown field in a login body" },
  field_not_allowed: { status: 400, when: "non-empty dir or out" },
  invalid_direction: { status: 400, when: "direction other than to_host or from_host" },
  invalid_action: { status: 400, when: "exec action other than start, stop, wipe; or a stopmode outside 0-3" },
  invalid_intent: { status: 422, when: "the YAML or its meaning is wrong; data.diagnostics lists every problem" },
  invalid_source: {
    status: 422,
    when: "the file of another tool is not a lab that can be imported: unknown format, damaged, too large, dangerous, or not loaded from its URL; data.file and data.line name the place",
  },
  unauthenticated: { status: 401, when: "no valid token" },
  expired_agent_session: { status: 401, when: "the client's session with the service expired" },
  expired_host_session: { status: 401, when: "the service has no session with the host for this user" },
  invalid_credentials: { status: 401, when: "wrong user name or password" },
  operation_not_allowed: { status: 403, when: "the project's mode or the user's role does not allow the operation" },
  browser_token_invalid: { status: 403, when: "ticket unknown, used, expired, malformed, or issued to another session" },
  not_found: { status: 404, when: "unknown path" },
  lab_not_found: { status: 404, when: "no such lab for this user" },
  node_not_found: { status: 404, when: "no such node in the lab" },
  link_not_found: { status: 404, when: "no such link in the lab" },
  template_not_found: { status: 404, when: "no such template on the host" },
  capture_not_found: { status: 404, when: "no such capture" },
  snapshot_not_found: { status: 404, when: "the lab has no such snapshot" },
  history_not_found: { status: 404, when: "the history of the lab has no such text" },
  picture_not_found: { status: 404, when: "the lab has no such picture" },
  disks_not_found: { status: 404, when: "no such kept disks or transfer of disks for this user" },
  job_not_found: { status: 404, when: "no such job" },
  method_not_allowed: { status: 405, when: "the path does not support this method; the Allow header lists the methods that it supports" },
  lab_exists: { status: 409, when: "deploy of a managed lab that exists, without replace" },
  plan_stale: {
    status: 409,
    when: "the plan identity is not the one of the last plan of this direction, or the lab has changed since then",
  },
  lab_elsewhere: { status: 409, when: "another service on the same database owns the lab; nothing was changed" },
  lab_busy: { status: 409, when: "another change of the same lab runs; data.operation describes it" },
  session_exists: {
    status: 409,
    when: "the browser ticket belongs to another user than the signed-in one, and replace is not set; data.username, data.ticket_username",
  },
  node_not_running: {
    status: 409,
    when: "the console of a stopped node; data.node and data.power, if the host returns them; data.log is false if the host keeps no console output",
  },
  capture_limit: {
    status: 409,
    when: "the limit on the number or the size of captures of the lab or the host is reached; data.limit names the limit",
  },
  quota_exceeded: {
    status: 403,
    when: "the change would exceed a quota of the lab's owner: nothing was changed; data.quota has the quota, the resource, what is used, and the limit",
  },
  console_in_use: { status: 409, when: "exec on a console that another exec uses" },
  number_clash: {
    status: 409,
    when: "another lab of the same host user runs a node with the same number; data.clash contains the number, the lab and its node",
  },
  node_stuck: {
    status: 409,
    when: "the host reports the node as half started and neither starts nor stops it; a wipe resets the node and deletes its disk",
  },
  lab_in_use: {
    status: 409,
    when: "another host user has the lab open, or its nodes run or may run for that user (destroy accepts force); or a lab to renumber runs; data.users",
  },
  nodes_running: {
    status: 409,
    when: "a snapshot is taken, restored or removed, or disks are exported, while nodes run that must be stopped first; data.nodes lists them",
  },
  snapshot_exists: { status: 409, when: "the lab already has a snapshot with this name" },
  room_reserved: {
    status: 409,
    when: "a machine has no room for the lab, or for the reservation, beside the reservations of other users; data.from and data.until are the time without room",
  },
  reservation_not_found: { status: 404, when: "no such reservation for this user" },
  cancelled: { status: 409, when: "the change was cancelled: stopped after the step in flight; data.applied, data.remaining" },
  payload_too_large: { status: 413, when: "the request body, or the picture to return, is larger than the limit; data.limit" },
  unsupported_media_type: { status: 415, when: "a body that is not application/json" },
  unsupported: { status: 422, when: "the host does not support this; data.feature names the feature" },
  lab_locked: { status: 423, when: "the lab's lock is set on the host when a change begins: nothing was changed" },
  lab_locked_mid_apply: { status: 423, when: "the lock appeared during an apply: stopped after the step in flight" },
  tls_required: { status: 426, when: "plain HTTP on the HTTPS port" },
  rate_limited: { status: 429, when: "too many attempts; retry after the number of seconds in Retry-After" },
  internal: { status: 500, when: "a defect of the service; data.request_id finds it in the log" },
  host_error: { status: 502, when: "the host refused a step or failed during it; data.host contains the host's message" },
  host_unreachable: { status: 503, when: "no connection to the host", retryAfter: 5 },
  store_unavailable: {
    status: 503,
    when: "the service's database does not answer: nothing was changed, or data.job names the change, which continues when the database answers again",
    retryAfter: 5,
  },
  machine_unreachable: {
    status: 503,
    when: "another machine of the fleet has the lab and does not answer; data.machine names it, data.seen_at is its last sign of life; or its release is more than one step from this one, or lacks the operation. A change that it had begun may go on there",
    retryAfter: 5,
  },
  shutting_down: { status: 503, when: "the service shuts down and ended the call; data contains the progress of the call", retryAfter: 5 },
  overloaded: {
    status: 503,
    when: "the service has no free file descriptors, or no room for the body; it recovers when connections, requests or labs end",
    retryAfter: 5,
  },
  host_timeout: { status: 504, when: "the host did not answer in time" },
  image_pull_failed: {
    status: 502,
    when: "an image that a node needs could not be pulled from its registry: nothing was changed; data.image names it, data.reason is the kind of the problem",
  },
  console_timeout: { status: 504, when: "the prompt or an expected text did not appear; data.output contains the output until then" },
  tls_untrusted: {
    status: 0,
    answerStatus: 502,
    when: "raised by the client: the certificate is not trusted and no pin is set; the service returns it with 502 for the certificate of its host",
  },
  tls_pin_mismatch: {
    status: 0,
    answerStatus: 502,
    when: "raised by the client: the certificate is not the pinned one; the service returns it with 502 for the certificate of its host",
  },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof errors;

/** The HTTP status of an answer with this code; 0 if no service answers it. */
export function answerStatus(code: ErrorCode): number {
  const row: ErrorRow = errors[code];
  return row.answerStatus ?? row.status;
}

/** The data of an error with this code; of a union of codes, the union of their data. */
export type ErrorData<Code extends ErrorCode> = Code extends keyof ErrorDataTable ? ErrorDataTable[Code] : CommonErrorData;

type FieldOf<Data, Name extends PropertyKey> = Data extends { readonly [N in Name]?: infer Value } ? Value : never;
type NameOf<Data> = Data extends unknown ? keyof Data : never;

/** The data of an error whose code is not known: each field of each code, with the types that it has in any of them. */
export type AnyErrorData = {
  readonly [Name in NameOf<ErrorData<ErrorCode>>]?: Exclude<FieldOf<ErrorData<ErrorCode>, Name>, undefined>;
};

/**
 * The only error that crosses layers: a code of the table, a message for people, and the data that `schemas/error-data.ts`
 * defines for that code. Any other thrown value is a defect, returned as `internal`.
 */
export class Failure<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: Code;
  readonly data: AnyErrorData | undefined;
  /** Seconds for the Retry-After header; undefined: no header. */
  readonly retryAfter: number | undefined;

  constructor(
    code: Code,
    message: string,
    options: { readonly data?: ErrorData<Code>; readonly retryAfter?: number; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "Failure";
    this.code = code;
    this.data = options.data as AnyErrorData | undefined;
    const row: ErrorRow = errors[code];
    this.retryAfter = options.retryAfter ?? row.retryAfter;
  }

  get status(): number {
    return answerStatus(this.code);
  }
}
