import type { ErrorCode } from "../contract/errors.ts";
import { Failure } from "../contract/errors.ts";

/**
 * The error class of the SDK. Programs check `code`: a code of the error table, or absent if the answer was not from the service.
 * `status` is the HTTP status, or 0 without an answer: tls_untrusted, tls_pin_mismatch and tls_required (nothing was sent),
 * host_unreachable (no connection to the service, or it broke), host_timeout (no answer in time). With a status of 502, 503 or 504
 * these codes concern the emulation host behind the service.
 */
export class LabwrightError extends Error {
  readonly status: number;
  readonly code: ErrorCode | (string & {}) | undefined;
  readonly data: Readonly<Record<string, unknown>> | undefined;
  /** X-Request-Id of the answer. The service's log contains it too. */
  readonly requestId: string | undefined;
  /** Seconds from the header Retry-After. */
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

/** Converts an error of the transport to a LabwrightError with status 0. Returns any other error, such as the reason of an abort, unchanged. */
export function fromTransport(error: unknown): unknown {
  if (!(error instanceof Failure)) return error;
  return new LabwrightError(error.message, { status: 0, code: error.code, data: error.data, cause: error });
}
