import { Failure } from "../contract/errors.ts";

/**
 * Why work on a console ends before its time: what the signal was aborted with, where that says it (a service that goes down), else that its caller
 * went away. `data` tells what was done.
 */
export function cutOff(signal: AbortSignal, data?: Readonly<Record<string, unknown>>): Failure {
  const { reason } = signal;
  const [code, message] = reason instanceof Failure ? [reason.code, reason.message] : (["cancelled", "the caller went away"] as const);
  return new Failure(code, message, data === undefined ? {} : { data });
}
