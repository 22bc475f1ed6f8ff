import { Failure } from "../../contract/errors.ts";

/**
 * Returns the failure of console work that was aborted: the signal's reason if it is a Failure (a service that stops), else that the caller
 * disconnected. `data` describes what was done so far.
 */
export function cutOff(signal: AbortSignal, data?: Readonly<Record<string, unknown>>): Failure {
  const { reason } = signal;
  const [code, message] = reason instanceof Failure ? [reason.code, reason.message] : (["cancelled", "the caller went away"] as const);
  return new Failure(code, message, data === undefined ? {} : { data });
}
