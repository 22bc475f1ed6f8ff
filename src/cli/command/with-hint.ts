import { LabwrightError } from "../../client/index.ts";

/** Returns a function for `catch` that rethrows the error. If the error has this code, the hint replaces the usual one. */
export function withHint(code: string, hint: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof LabwrightError) || error.code !== code) throw error;
    const { message, status, requestId, retryAfter } = error;
    throw new LabwrightError(message, { status, code, requestId, retryAfter, data: { ...error.data, hint }, cause: error });
  };
}
