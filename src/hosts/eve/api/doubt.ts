import { Failure } from "../../../contract/errors.ts";
import { type EveAnswer, hostError } from "./answer.ts";

/** The host broke in the middle, or the connection did: whether the change was made is not known. */
export function isDoubtful(error: unknown): error is Failure {
  if (!(error instanceof Failure)) return false;
  if (error.code === "host_timeout" || error.code === "host_unreachable") return true;
  const host = error.data?.host as { readonly status?: unknown } | undefined;
  return error.code === "host_error" && typeof host?.status === "number" && host.status >= 500;
}

/**
 * One change that is sent once. If its outcome is not known, the host is read: a state as wanted means that the change was done, and anything else is the
 * failure that it was. Throws host_error and what the connection throws.
 */
export async function settled(
  doing: string,
  send: () => Promise<EveAnswer>,
  good: (answer: EveAnswer) => boolean,
  isDone: () => Promise<boolean>,
): Promise<void> {
  let doubt: Failure;
  try {
    const answer = await send();
    if (good(answer)) return;
    doubt = hostError(doing, answer);
    if (!answer.broken) throw doubt;
  } catch (error) {
    if (!isDoubtful(error)) throw error;
    doubt = error;
  }
  if (await isDone()) return;
  throw new Failure(doubt.code, `${doubt.message}; it was not done`, { data: { ...doubt.data }, cause: doubt });
}
