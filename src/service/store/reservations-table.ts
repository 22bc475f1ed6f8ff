import type { DatabaseSync } from "node:sqlite";
import { inTransaction, type SqliteTables } from "./rows.ts";
import type { ReservationRow } from "./store.ts";
import { readReservation } from "./stored-json.ts";

/** Reservations, with all of them in memory. */
export function reservationsTable(db: DatabaseSync): SqliteTables["reservations"] {
  const sql = {
    list: db.prepare("SELECT reservation FROM reservations"),
    insert: db.prepare("INSERT INTO reservations (id, ends_at, reservation) VALUES (?, ?, ?)"),
    delete: db.prepare("DELETE FROM reservations WHERE id = ?"),
    purge: db.prepare("DELETE FROM reservations WHERE ends_at < ?"),
  };
  let known: readonly ReservationRow[] | undefined;
  const list = () => {
    known ??= byBeginning(sql.list.all().map(({ reservation }) => readReservation(reservation as string)));
    return known;
  };
  return {
    list,
    add: (make) => {
      const row = make(list());
      inTransaction(db, () => void sql.insert.run(row.id, row.until, JSON.stringify(row)));
      known = undefined;
      return row;
    },
    delete: (id) => {
      sql.delete.run(id);
      known = undefined;
    },
    purge: (endedBefore) => {
      sql.purge.run(endedBefore);
      known = undefined;
    },
  };
}

export function byBeginning(rows: readonly ReservationRow[]): readonly ReservationRow[] {
  return rows.toSorted((a, b) => a.from - b.from || (a.id < b.id ? -1 : 1));
}
