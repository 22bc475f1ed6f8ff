import { type ParseArgsOptionsConfig, parseArgs } from "node:util";

/** A wrong command line, explained to the user. */
export class UsageError extends Error {}

const common = { format: { type: "string" }, help: { type: "boolean", short: "h" } } as const;

/** Flags and operands of a program of this host that `labwright` runs, which all know --format and --help. Throws UsageError. */
export function commandLine<const T extends ParseArgsOptionsConfig>(options: T) {
  const { values, positionals } = parsed(options);
  const { format } = values as { readonly format?: string };
  if (format !== undefined && format !== "table" && format !== "json") throw new UsageError("--format takes table or json");
  return { values, positionals, json: format === "json" };
}

function parsed<const T extends ParseArgsOptionsConfig>(options: T) {
  try {
    return parseArgs({ args: process.argv.slice(2), allowPositionals: true, options: { ...options, ...common } });
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}

const causes: Readonly<Record<string, readonly [string, string]>> = {
  ENOSPC: ["its file system is full", "free space there, and try again"],
  EDQUOT: ["the disk quota is used up", "free space there, and try again"],
  EROFS: ["its file system is read-only", "mount it writable, and try again"],
  EACCES: ["permission denied", "run the command as root, or as the user of the service"],
  EPERM: ["the operation is not permitted", "run the command as root, or as the user of the service"],
};

/** Returns an error that a program of this host does not expect, for people. One of the file system names the file, its code and the next step. */
export function unexpectedText(error: unknown): string {
  const { code = "", message, path } = error as NodeJS.ErrnoException;
  const cause = causes[code];
  if (cause === undefined) return `error: ${message}`;
  return `error: ${path ?? "a file of Labwright"}: ${cause[0]} (${code})\n  hint: ${cause[1]}`;
}
