/**
 * Every error code of API v1, its HTTP status and when it is given. The one table: routes, SDK, OpenAPI and
 * docs/errors.md name the same codes (a test compares them both ways). Append-only.
 */
export interface ErrorRow {
  /** HTTP status; 0 for errors that the client raises by itself. */
  readonly status: number;
  /** HTTP status of an answer with a code that clients raise by themselves as well. */
  readonly answerStatus?: number;
  readonly when: string;
  /** Seconds for Retry-After where nothing better is known. */
  readonly retryAfter?: number;
}

export const errors = {
  bad_request: { status: 400, when: "malformed JSON, wrong type, missing required field; data.problems lists them all" },
  unknown_field: { status: 400, when: "unknown field in a login body" },
  field_not_allowed: { status: 400, when: "non-empty dir or out" },
  invalid_direction: { status: 400, when: "direction other than to_host or from_host" },
  invalid_action: { status: 400, when: "exec action other than start, stop, wipe; or a stopmode outside 0-3" },
  invalid_intent: { status: 422, when: "the YAML or its meaning is wrong; data.diagnostics lists every problem" },
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
  picture_not_found: { status: 404, when: "the lab has no such picture" },
  disks_not_found: { status: 404, when: "no such kept disks for this user" },
  job_not_found: { status: 404, when: "no such job" },
  method_not_allowed: { status: 405, when: "the path exists, the method does not; Allow names those that do" },
  lab_exists: { status: 409, when: "deploy of a managed lab that exists, without replace" },
  plan_stale: { status: 409, when: "the plan identity is not the one of the last plan of this direction, or what it saw has changed" },
  lab_busy: { status: 409, when: "another change of the same lab runs; data.operation tells which" },
  session_exists: {
    status: 409,
    when: "a browser ticket of another user than the one that the browser is signed in as, without replace; data.username, data.ticket_username",
  },
  node_not_running: {
    status: 409,
    when: "the console of a stopped node; data.node and data.power, where the host returns them; data.log false: the host keeps no output of nodes",
  },
  capture_limit: {
    status: 409,
    when: "as many captures of the lab or the host as there may be, or as much room as they may take; data.limit tells which",
  },
  console_in_use: { status: 409, when: "exec on a console that another exec holds" },
  number_clash: {
    status: 409,
    when: "the node's number on the host runs for another lab of the same host user; data.clash names the number, the lab and its node",
  },
  node_stuck: {
    status: 409,
    when: "the host takes the node for half started, and neither starts nor stops it; a wipe ends that and deletes its disk",
  },
  lab_in_use: {
    status: 409,
    when: "another user of the host has the lab open, or its nodes run or may run for that user (destroy takes force); or a lab to renumber runs; data.users",
  },
  nodes_running: {
    status: 409,
    when: "a snapshot is taken, restored or removed while nodes run that must be stopped first; data.nodes names them",
  },
  snapshot_exists: { status: 409, when: "the lab has a snapshot of this name" },
  cancelled: { status: 409, when: "the change was cancelled: stopped after the step in flight; data.applied, data.remaining" },
  payload_too_large: { status: 413, when: "a body over the limit, or a picture that is larger than the service answers; data.limit" },
  unsupported_media_type: { status: 415, when: "a body that is not application/json" },
  unsupported: { status: 422, when: "the host cannot do this; data.feature names what" },
  lab_locked: { status: 423, when: "the lab's lock is set on the host when a change begins: nothing was changed" },
  lab_locked_mid_apply: { status: 423, when: "the lock appeared during an apply: stopped after the step in flight" },
  tls_required: { status: 426, when: "plain HTTP on the HTTPS port" },
  rate_limited: { status: 429, when: "too many tries; Retry-After tells when to come back" },
  internal: { status: 500, when: "a defect of the service; data.request_id finds it in the log" },
  host_error: { status: 502, when: "the host refused or broke a step; data.host tells its words" },
  host_unreachable: { status: 503, when: "no connection to the host", retryAfter: 5 },
  shutting_down: { status: 503, when: "the service goes down: the call was cut off; data tells what it had done", retryAfter: 5 },
  overloaded: {
    status: 503,
    when: "the service has no file descriptors left, so that it can open nothing more; it recovers when connections or labs end",
    retryAfter: 5,
  },
  host_timeout: { status: 504, when: "the host did not answer in time" },
  console_timeout: { status: 504, when: "the prompt or an expected text did not come; data.output is what came" },
  tls_untrusted: {
    status: 0,
    answerStatus: 502,
    when: "raised by the client: certificate not trusted and no pin given; answered with 502 where the certificate is that of the service's host",
  },
  tls_pin_mismatch: {
    status: 0,
    answerStatus: 502,
    when: "raised by the client: the certificate is not the pinned one; answered with 502 where the certificate is that of the service's host",
  },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof errors;

/** The HTTP status of an answer with this code; 0 if no service answers it. */
export function answerStatus(code: ErrorCode): number {
  const row: ErrorRow = errors[code];
  return row.answerStatus ?? row.status;
}

/**
 * The one error that crosses layers: a code of the table, a text for people, and the data that the contract
 * gives for that code. Anything else that is thrown is a defect and answers `internal`.
 */
export class Failure extends Error {
  readonly code: ErrorCode;
  readonly data: Readonly<Record<string, unknown>> | undefined;
  /** Seconds for the Retry-After header, where the code has one. */
  readonly retryAfter: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { readonly data?: Readonly<Record<string, unknown>>; readonly retryAfter?: number; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "Failure";
    this.code = code;
    this.data = options.data;
    const row: ErrorRow = errors[code];
    this.retryAfter = options.retryAfter ?? row.retryAfter;
  }

  get status(): number {
    return answerStatus(this.code);
  }
}
