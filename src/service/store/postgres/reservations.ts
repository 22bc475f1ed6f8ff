import { byBeginning } from "../reservations-table.ts";
import type { ReservationRow, Store } from "../store.ts";
import { readReservation } from "../stored-json.ts";
import type { Database, Statement } from "./database.ts";
import type { Notices } from "./notices.ts";

const sql = {
  list: { name: "list_reservations", text: "SELECT reservation FROM reservations" },
  // Other services wait here until the end of the transaction; reads go on.
  lock: { name: "lock_reservations", text: "LOCK TABLE reservations IN EXCLUSIVE MODE" },
  insert: {
    name: "insert_reservation",
    text: `WITH written AS (INSERT INTO reservations (id, ends_at, reservation) VALUES ($1, $2, $3))
      SELECT pg_notify('labwright', $4)`,
  },
  delete: { name: "delete_reservation", text: "WITH gone AS (DELETE FROM reservations WHERE id = $1) SELECT pg_notify('labwright', $2)" },
  purge: { name: "purge_reservations", text: "DELETE FROM reservations WHERE ends_at < $1" },
} as const satisfies Readonly<Record<string, Statement>>;

type StoredRow = { readonly reservation: string };

/** Reservations, in memory and in PostgreSQL: each change of a lab reads them. */
export class Reservations {
  readonly #database: Pick<Database, "query" | "transaction">;
  readonly #notices: Pick<Notices, "text">;
  #rows: readonly ReservationRow[] = [];
  /** Number of reads that have begun. */
  #begun = 0;
  /** Number of the read whose rows are in memory. */
  #current = 0;

  constructor(database: Pick<Database, "query" | "transaction">, notices: Pick<Notices, "text">) {
    this.#database = database;
    this.#notices = notices;
  }

  /** Reads all reservations. */
  async catchUp(): Promise<void> {
    this.#begun += 1;
    const number = this.#begun;
    const { rows } = await this.#database.query<StoredRow>(sql.list, []);
    // A read that began later, and so has newer rows, may have ended before.
    if (number < this.#current) return;
    this.#current = number;
    this.#rows = read(rows);
  }

  readonly calls: Store["reservations"] = {
    list: () => this.#rows,
    add: async (make) => {
      const made = await this.#database.transaction(async (query) => {
        await query(sql.lock, []);
        const row = make(read((await query<StoredRow>(sql.list, [])).rows));
        await query(sql.insert, [row.id, row.until, JSON.stringify(row), this.#notice()]);
        return row;
      });
      await this.catchUp();
      return made;
    },
    delete: async (id) => {
      await this.#database.query(sql.delete, [id, this.#notice()]);
      await this.catchUp();
    },
    purge: async (endedBefore) => {
      await this.#database.query(sql.purge, [endedBefore]);
      await this.catchUp();
    },
  };

  /** The kind is one that services of the release before know, too: they read their quotas again. */
  #notice(): string {
    return this.#notices.text("quota", "reservations");
  }
}

function read(rows: readonly StoredRow[]): readonly ReservationRow[] {
  return byBeginning(rows.map(({ reservation }) => readReservation(reservation)));
}
