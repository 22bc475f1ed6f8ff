import { Failure } from "./errors.ts";

/**
 * Returns the failure of a process or machine without free file descriptors, found anywhere in the chain of causes. Returns `undefined` for any other
 * error.
 */
export function shortageOf(error: unknown): Failure | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 10; at = at.cause, depth++) {
    const code = shortageCode(at);
    if (code === undefined) continue;
    const whose = code === "EMFILE" ? "the service" : "its machine";
    const why = `${whose} has no file descriptors left (${code}); try again later, close connections, or raise the limit (LimitNOFILE= of the service's unit, ulimit -n)`;
    return new Failure("overloaded", why, { cause: error });
  }
  return undefined;
}

function shortageCode({ code, message }: Error & { readonly code?: unknown }): "EMFILE" | "ENFILE" | undefined {
  if (code === "EMFILE" || code === "ENFILE") return code;
  // If a worker thread gets no file descriptor, Node reports EMFILE only in the error's message.
  return code === "ERR_WORKER_INIT_FAILED" && message.includes("EMFILE") ? "EMFILE" : undefined;
}
