import { createHash, type Hash } from "node:crypto";

/** A value of a row, as both databases have it. */
export type Value = string | number | boolean | null | Uint8Array;
export type CopiedRow = readonly Value[];

/** A table that both databases have, with the names and the order of its columns in a copy. */
export interface CopiedTable {
  readonly name: "sessions" | "browser_sessions" | "labs" | "history" | "jobs" | "job_keys" | "quotas" | "reservations" | "accounts";
  readonly columns: readonly string[];
  /** The columns that order its rows; absent: the order in which they were inserted, which the service uses between rows of the same time. */
  readonly key?: readonly string[];
}

/** In the order of a copy: browsers refer to sessions. */
export const copiedTables: readonly CopiedTable[] = [
  { name: "sessions", columns: ["hash", "username", "role", "credential", "created_at", "used_at", "revoked", "token"], key: ["hash"] },
  { name: "browser_sessions", columns: ["hash", "session", "created_at"] },
  { name: "labs", columns: ["path", "record", "contents", "plans"], key: ["path"] },
  {
    name: "history",
    columns: [
      ...["identity", "serial", "at", "username", "operation", "job", "outcome", "nodes", "links", "steps", "step_count", "digest"],
      "contents",
    ],
    key: ["identity", "serial"],
  },
  {
    name: "jobs",
    columns: [
      ...["id", "lab", "identity", "owner", "operation", "username", "request", "status", "outcome", "started_at", "finished_at", "steps"],
      ...["done", "result", "error"],
    ],
  },
  { name: "job_keys", columns: ["username", "key", "request", "job", "created_at", "answer"], key: ["username", "key"] },
  { name: "quotas", columns: ["name", "quota"], key: ["name"] },
  { name: "reservations", columns: ["id", "ends_at", "reservation"], key: ["id"] },
  // Beside SQLite, they are in users.json.
  { name: "accounts", columns: ["name", "account"], key: ["name"] },
];

/** Number of rows of a table, and the SHA-256 of their values, hex. */
export interface Sum {
  readonly rows: number;
  readonly digest: string;
}

/** Sums rows up as they pass. */
export class Summing {
  readonly #hash: Hash = createHash("sha256");
  #rows = 0;

  add(row: CopiedRow): void {
    this.#rows += 1;
    this.#hash.update(
      `${JSON.stringify(row.map((value) => (value instanceof Uint8Array ? { bytes: Buffer.from(value).toString("base64") } : value)))}\n`,
    );
  }

  sum(): Sum {
    return { rows: this.#rows, digest: this.#hash.digest("hex") };
  }
}

/** Returns the plans of a lab as text, in an order that does not depend on which of them was made first. */
export function plansText(plans: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(Object.fromEntries(Object.entries(plans).sort(([a], [b]) => (a < b ? -1 : 1))));
}
