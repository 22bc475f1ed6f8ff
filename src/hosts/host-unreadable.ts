import { Failure } from "../contract/errors.ts";

/** Returns the failure of every read of a lab that exists but cannot be read. Only a `delete-lab` step still works on it. */
export function unreadableLab(
  message: string,
  host: { readonly code?: number; readonly message: string; readonly status?: number },
): Failure {
  const hint = "labwright destroy removes the lab; its nodes that run go on running";
  return new Failure("host_error", message, { data: { host, unreadable: true, hint } });
}

export function isUnreadableLab(error: unknown): error is Failure {
  return error instanceof Failure && error.data?.unreadable === true;
}
