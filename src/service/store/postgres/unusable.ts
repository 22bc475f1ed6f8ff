import { isUnavailable } from "./unavailable.ts";

const remedies: Readonly<Record<string, string>> = {
  "28P01": "the password is wrong: set PGPASSWORD, write ~/.pgpass, or name a file with --store-password-file",
  "28000": "the server refuses this user from this address: add a line to its pg_hba.conf",
  "3D000": "the database does not exist: create it with createdb",
  "42501": "the user may not create tables there: make it the owner of the database",
};

/** Returns the error of a database that cannot be used, with the reason and the next step. */
export function explained(error: unknown, shown: string): Error {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  if (message.includes(shown)) return error as Error;
  const remedy = remedies[code ?? ""] ?? (/password must be a string|no password/i.test(message) ? remedies["28P01"] : undefined);
  if (remedy !== undefined) return new Error(`the store ${shown} cannot be used: ${remedy} (${message})`, { cause: error });
  const text = message === "" && error instanceof AggregateError ? error.errors.map(String).join(", ") : message;
  const next = isUnavailable(error) ? ": start PostgreSQL, or check host and port of the URL" : "";
  return new Error(`the store ${shown} cannot be used: ${text}${next}`, { cause: error });
}
