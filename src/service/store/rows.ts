import type { DatabaseSync } from "node:sqlite";

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
