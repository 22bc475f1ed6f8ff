import type { FastifyRequest } from "fastify";
import type { ErrorCode } from "../../contract/errors.ts";
import type { Caller } from "../../service/common/call.ts";
import type { RequestCall } from "../streams/request-call.ts";
import type { RunningCall } from "../streams/running-calls.ts";
import type { BodyPlace } from "./body-room.ts";

/** The results of the checks of one request so far. */
export interface RequestState {
  caller?: Caller;
  /** Counts the bytes of the body and of the answer. */
  place?: BodyPlace;
  /** The error code of a refused request, for the log line. */
  code?: ErrorCode;
  /** For the audit log. */
  call?: RequestCall;
  running?: RunningCall;
  /** Whether it counts as a request in progress of its connection. */
  isInPipeline?: boolean;
}

declare module "fastify" {
  interface FastifyRequest {
    /** null until it is used. A property, because an entry in a WeakMap for each request takes the garbage collector as long as the rest of a short answer. */
    labwright: RequestState | null;
  }
}

/** Also works for a request that the framework refuses before any hook runs. */
export function stateOf(request: FastifyRequest): RequestState {
  request.labwright ??= {};
  return request.labwright;
}
