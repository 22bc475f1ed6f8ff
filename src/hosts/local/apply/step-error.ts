import { Failure } from "../../../contract/errors.ts";
import type { StepLog } from "../../host-batches.ts";
import { machineTrouble } from "../machine/machine-trouble.ts";

/** Returns the error with the finished and the remaining steps. Errors of the machine, such as a full disk or a missing program, become host_error. */
export function withProgress(error: unknown, { applied, remaining: left }: StepLog): unknown {
  const named = error instanceof Failure ? error.data?.failed : undefined;
  // The error may name the step of the batch that failed; otherwise it is the first one.
  const failed = left.find((id) => id === named) ?? left[0];
  const far = { applied, ...(failed !== undefined && { failed }), remaining: left.filter((id) => id !== failed) };
  if (error instanceof Failure) {
    const isComplete = error.code !== "host_error" || typeof error.data?.host === "object";
    const host = isComplete ? {} : { host: { message: error.message } };
    return new Failure(error.code, error.message, { data: { ...error.data, ...host, ...far }, cause: error });
  }
  const trouble = machineTrouble(error);
  return trouble === undefined ? error : new Failure(trouble.code, trouble.message, { data: { ...trouble.data, ...far }, cause: error });
}
