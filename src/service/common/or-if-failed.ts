import { Failure } from "../../contract/errors.ts";

/** Returns a handler that answers `value` instead of a failed read. Errors that are not failures are defects and are thrown. */
export function orIfFailed<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof Failure) return value;
    throw error;
  };
}
