import { Failure } from "../../../contract/errors.ts";

/** Classes of SQLSTATE after which the same statement can succeed later, perhaps on another server. */
const passing = [
  /^08/, // connection exception
  /^57P0[1-5]$/, // shutdown, crash, starting up
  /^53300$/, // too many connections
  /^53(000|200)$/, // out of resources, out of memory
  /^57014$|^25P03$/, // the time of a statement, or between two of a transaction, is over
  /^28...$/, // a connection is refused that was admitted before: the password or pg_hba.conf has changed
  /^25006$/, // a standby, which is read-only: the primary has moved
  /^40001$|^40P01$/, // serialization failure, deadlock
];

const systemCodes: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ENOENT",
]);

/** Messages of the client library, which have no codes. */
const clientMessages =
  /^(Connection terminated|Query read timeout|timeout exceeded when trying to connect|timeout expired|Client has encountered a connection error|Client was closed)/;

/** Returns whether PostgreSQL did not answer, so that the outcome of the statement is unknown, or refused it only for now. */
export function isUnavailable(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  if (typeof code === "string" && (systemCodes.has(code) || passing.some((known) => known.test(code)))) return true;
  if (typeof message !== "string") return false;
  return clientMessages.test(message) || (error instanceof AggregateError && error.errors.some(isUnavailable));
}

/** Returns the failure of a call that needs PostgreSQL now. */
export function storeUnavailable(error: unknown): Failure {
  const text = "the service's database does not answer: nothing was changed by this call; running labs and open consoles go on. Try again";
  return new Failure("store_unavailable", text, { retryAfter: 5, cause: error });
}

/** Returns the failure of a statement that PostgreSQL refuses. Its text may contain data, so it is only in the cause, which is logged. */
export function storeRefused(error: unknown): Failure {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  if (code === "53100") {
    const text = "the disk of the service's database is full: nothing was changed by this call. Free space on it and try again";
    return new Failure("store_unavailable", text, { retryAfter: 5, cause: error });
  }
  return new Failure("internal", "the service's database failed: see the service's log", { cause: error });
}

const passwordFrom = "set PGPASSWORD, write ~/.pgpass, or name a file with --store-password-file";
const noPassword = `the server asks for a password, and there is none: ${passwordFrom}`;

const remedies: Readonly<Record<string, string>> = {
  "28P01": `the password is wrong: ${passwordFrom}`,
  "28000": "the server refuses this user from this address: add a line to its pg_hba.conf",
  "3D000": "the database does not exist: create it with createdb",
  "42501": "the user may not create tables there: make it the owner of the database",
};

/** Returns the error of a database that cannot be used, with the reason and the next step. */
export function explained(error: unknown, shown: string): Error {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  if (message.includes(shown)) return error as Error;
  const remedy = remedies[code ?? ""] ?? (/password must be a string|no password/i.test(message) ? noPassword : undefined);
  if (remedy !== undefined) return new Error(`the store ${shown} cannot be used: ${remedy} (${message})`, { cause: error });
  const text = message === "" && error instanceof AggregateError ? error.errors.map(String).join(", ") : message;
  const next = isUnavailable(error) ? ": start PostgreSQL, or check host and port of the URL" : "";
  return new Error(`the store ${shown} cannot be used: ${text}${next}`, { cause: error });
}
