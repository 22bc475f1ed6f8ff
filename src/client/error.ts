import type { ErrorCode } from "../contract/errors.ts";
import { Failure } from "../contract/errors.ts";

/**
 * The one error of the SDK. `code` is what programs look at: a code of the error table, or absent where something that is not the
 * service answered. `status` is the HTTP status, or 0 when no answer came: tls_untrusted, tls_pin_mismatch and tls_required
 * (nothing was sent), host_unreachable (no connection to the service, or it broke), host_timeout (no answer in time). With a status
 * of 502, 503 or 504 these codes are the service's own words about the emulation host behind it.
 */
export class LabwrightError extends Error {
  readonly status: number;
  readonly code: ErrorCode | (string & {}) | undefined;
  readonly data: Readonly<Record<string, unknown>> | undefined;
  /** X-Request-Id of the answer: finds the line in the service's log. */
  readonly requestId: string | undefined;
  /** Seconds, from Retry-After. */
  readonly retryAfter: number | undefined;

  constructor(
    message: string,
    fields: {
      readonly status: number;
      readonly code?: string | undefined;
      readonly data?: Readonly<Record<string, unknown>> | undefined;
      readonly requestId?: string | undefined;
      readonly retryAfter?: number | undefined;
      readonly cause?: unknown;
    },
  ) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.name = "LabwrightError";
    this.status = fields.status;
    this.code = fields.code;
    this.data = fields.data;
    this.requestId = fields.requestId;
    this.retryAfter = fields.retryAfter;
  }
}

/** What the transport threw, in the SDK's words: no answer came, hence status 0. Anything else (an abort's reason) passes as it is. */
export function fromTransport(error: unknown): unknown {
  if (!(error instanceof Failure)) return error;
  return new LabwrightError(error.message, { status: 0, code: error.code, data: error.data, cause: error });
}
