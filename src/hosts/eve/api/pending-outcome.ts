import { Failure } from "../../../contract/errors.ts";
import { type EveAnswer, hostError } from "./answer.ts";

/** Returns whether the host or the connection broke during the call, so that its outcome is unknown. */
export function isOutcomePending(error: unknown): error is Failure {
  if (!(error instanceof Failure)) return false;
  if (error.code === "host_timeout" || error.code === "host_unreachable") return true;
  const host = error.data?.host;
  return error.code === "host_error" && typeof host === "object" && (host.status ?? 0) >= 500;
}

/**
 * Sends a change once. If its outcome is unknown, the host is read: the change counts as done if the state is as wanted, and fails otherwise. Throws host_error
 * and the failures of the connection.
 */
export async function settled(
  doing: string,
  send: () => Promise<EveAnswer>,
  good: (answer: EveAnswer) => boolean,
  isDone: () => Promise<boolean>,
): Promise<void> {
  let pending: Failure;
  try {
    const answer = await send();
    if (good(answer)) return;
    pending = hostError(doing, answer);
    if (!answer.broken) throw pending;
  } catch (error) {
    if (!isOutcomePending(error)) throw error;
    pending = error;
  }
  if (await isDone()) return;
  throw new Failure(pending.code, `${pending.message}; the host did not make the change`, { data: { ...pending.data }, cause: pending });
}
