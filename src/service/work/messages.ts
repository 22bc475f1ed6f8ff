import { Failure } from "../../contract/errors.ts";
import type { TaskName } from "./tasks.ts";

/** To a worker: one task at a time. */
export interface Order {
  readonly name: TaskName;
  readonly input: readonly unknown[];
}

/** From a worker. An error loses its class between threads, so a Failure is sent as its parts. */
export type Outcome =
  | { readonly result: unknown }
  | { readonly failure: Pick<Failure, "code" | "message" | "data"> }
  | { readonly error: unknown };

/** Returns the result or error of `run` in a form that can be sent to another thread. */
export async function outcomeOf(run: () => unknown): Promise<Outcome> {
  try {
    return { result: await run() };
  } catch (error) {
    if (!(error instanceof Failure)) return { error };
    const { code, message, data } = error;
    return { failure: { code, message, data } };
  }
}

/** Returns the result. Throws the error of the task. */
export function resultOf(outcome: Outcome): unknown {
  if ("result" in outcome) return outcome.result;
  if ("error" in outcome) throw outcome.error;
  const { code, message, data } = outcome.failure;
  throw new Failure(code, message, data === undefined ? {} : { data });
}
