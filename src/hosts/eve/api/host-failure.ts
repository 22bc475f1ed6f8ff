import { Failure } from "../../../contract/errors.ts";

/** Returns a host_error with a message of Labwright, not of the host. */
export function hostFailure(message: string, data: Readonly<Record<string, unknown>> = {}): Failure {
  return new Failure("host_error", message, { data: { host: { message }, ...data } });
}
