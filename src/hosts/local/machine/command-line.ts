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
