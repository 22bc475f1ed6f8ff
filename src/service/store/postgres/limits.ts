import { quotaKey } from "../quotas-table.ts";
import { byBeginning } from "../reservations-table.ts";
import type { QuotaRow, ReservationRow, Store } from "../store.ts";
import { readQuota, readReservation } from "../stored-json.ts";
import type { Database, Statement } from "./database.ts";
import type { Notices } from "./notices.ts";

const quotaSql = {
  list: { name: "list_quotas", text: "SELECT name, quota FROM quotas" },
  put: {
    name: "put_quota",
    text: `WITH written AS (INSERT INTO quotas (name, quota) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET quota = excluded.quota)
      SELECT pg_notify('labwright', $3)`,
  },
  delete: { name: "delete_quota", text: "WITH gone AS (DELETE FROM quotas WHERE name = $1) SELECT pg_notify('labwright', $2)" },
} as const satisfies Readonly<Record<string, Statement>>;

/** Quotas, in memory and in PostgreSQL: each change of a lab reads them. */
export class Quotas {
  readonly #database: Pick<Database, "query">;
  readonly #notices: Pick<Notices, "text">;
  #rows: readonly QuotaRow[] = [];
  /** Number of reads that have begun. */
  #begun = 0;
  /** Number of the read whose rows are in memory. */
  #current = 0;

  constructor(database: Pick<Database, "query">, notices: Pick<Notices, "text">) {
    this.#database = database;
    this.#notices = notices;
  }

  /** Reads all quotas. */
  async catchUp(): Promise<void> {
    this.#begun += 1;
    const number = this.#begun;
    const { rows } = await this.#database.query<{ name: string; quota: string }>(quotaSql.list, []);
    // A read that began later, and so has newer rows, may have ended before.
    if (number < this.#current) return;
    this.#current = number;
    const sorted = rows.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    this.#rows = sorted.map(({ quota }) => readQuota(quota));
  }

  readonly calls: Store["quotas"] = {
    list: () => this.#rows,
    put: async (row) => {
      await this.#database.query(quotaSql.put, [quotaKey(row.kind, row.name), JSON.stringify(row), this.#notices.text("quota", "all")]);
      await this.catchUp();
    },
    delete: async (kind, name) => {
      await this.#database.query(quotaSql.delete, [quotaKey(kind, name), this.#notices.text("quota", "all")]);
      await this.catchUp();
    },
  };
}

const reservationSql = {
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
    const { rows } = await this.#database.query<StoredRow>(reservationSql.list, []);
    // A read that began later, and so has newer rows, may have ended before.
    if (number < this.#current) return;
    this.#current = number;
    this.#rows = reservationsOf(rows);
  }

  readonly calls: Store["reservations"] = {
    list: () => this.#rows,
    add: async (make) => {
      const made = await this.#database.transaction(async (query) => {
        await query(reservationSql.lock, []);
        const row = make(reservationsOf((await query<StoredRow>(reservationSql.list, [])).rows));
        await query(reservationSql.insert, [row.id, row.until, JSON.stringify(row), this.#notice()]);
        return row;
      });
      await this.catchUp();
      return made;
    },
    delete: async (id) => {
      await this.#database.query(reservationSql.delete, [id, this.#notice()]);
      await this.catchUp();
    },
    purge: async (endedBefore) => {
      await this.#database.query(reservationSql.purge, [endedBefore]);
      await this.catchUp();
    },
  };

  /** The kind is one that services of the release before know, too: they read their quotas again. */
  #notice(): string {
    return this.#notices.text("quota", "reservations");
  }
}

function reservationsOf(rows: readonly StoredRow[]): readonly ReservationRow[] {
  return byBeginning(rows.map(({ reservation }) => readReservation(reservation)));
}
