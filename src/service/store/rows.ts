import type { DatabaseSync } from "node:sqlite";
import type { Store } from "./store.ts";

export type Row = Readonly<Record<string, unknown>>;

/** Runs several writes in one transaction. */
export function inTransaction(db: DatabaseSync, work: () => void): void {
  db.exec("BEGIN");
  try {
    work();
    db.exec("COMMIT");
  } catch (error) {
    // A full disk may have rolled it back already.
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/** The calls of a group as SQLite answers them: at once. */
type AtOnce<Group> = {
  readonly [Name in keyof Group]: Group[Name] extends (...given: infer Given) => Promise<infer Result>
    ? (...given: Given) => Result
    : Group[Name];
};

/** The tables of the embedded database. */
export interface SqliteTables {
  readonly sessions: AtOnce<Store["sessions"]>;
  readonly labs: AtOnce<Store["labs"]>;
  readonly jobs: AtOnce<Store["jobs"]>;
  readonly history: AtOnce<Store["history"]>;
  readonly quotas: AtOnce<Store["quotas"]>;
  readonly reservations: AtOnce<Store["reservations"]>;
}
