import { basename } from "node:path";
import { Failure } from "../../../contract/errors.ts";

/**
 * Wraps an object so that host_errors of its methods contain only the names of files in these directories, not their paths. The log has the cause
 * with the paths.
 */
export function hidingPaths<T extends object>(methods: T, directories: readonly string[]): T {
  const pattern = new RegExp(
    `(?:${directories
      .filter((each) => each.length > 1)
      .map(literal)
      .join("|")})(?:/[^\\s"'\`:;,()]*)?`,
    "g",
  );
  const hide = (error: unknown) => {
    throw hidden(error, pattern);
  };
  const wrapped = (value: unknown): unknown => {
    if (typeof value === "object" && value !== null) return wrap(value);
    if (typeof value !== "function") return value;
    return (...given: unknown[]) => {
      const result: unknown = value(...given);
      return result instanceof Promise ? result.catch(hide) : result;
    };
  };
  const wrap = (object: object): object => Object.fromEntries(Object.entries(object).map(([name, value]) => [name, wrapped(value)]));
  return wrap(methods) as T;
}

function hidden(error: unknown, pattern: RegExp): unknown {
  if (!(error instanceof Failure) || error.code !== "host_error") return error;
  const without = (value: unknown): unknown => {
    if (typeof value === "string") return value.replace(pattern, (path) => basename(path));
    if (Array.isArray(value)) return value.map(without);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, without(part)]));
  };
  const message = without(error.message) as string;
  const data = without(error.data) as Failure["data"];
  if (message === error.message && JSON.stringify(data) === JSON.stringify(error.data)) return error;
  return new Failure(error.code, message, { ...(data !== undefined && { data }), cause: error });
}

/** Escapes the text for a regular expression. */
function literal(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
