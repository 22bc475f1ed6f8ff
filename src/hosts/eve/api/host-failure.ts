import { Failure } from "../../../contract/errors.ts";

/** A host_error that is told in our words, not the host's. */
export function hostFailure(message: string, data: Readonly<Record<string, unknown>> = {}): Failure {
  return new Failure("host_error", message, { data: { host: { message }, ...data } });
}
