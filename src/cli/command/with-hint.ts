import { LabwrightError } from "../../client/index.ts";

/** Throws the error, with this hint in place of the usual one of its code if it has that code. For `catch`. */
export function withHint(code: string, hint: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof LabwrightError) || error.code !== code) throw error;
    const { message, status, requestId, retryAfter } = error;
    throw new LabwrightError(message, { status, code, requestId, retryAfter, data: { ...error.data, hint }, cause: error });
  };
}
