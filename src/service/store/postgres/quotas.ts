import { quotaKey } from "../quotas-table.ts";
import type { QuotaRow, Store } from "../store.ts";
import { readQuota } from "../stored-json.ts";
import type { Database, Statement } from "./database.ts";
import type { Notices } from "./notices.ts";

const sql = {
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
    const { rows } = await this.#database.query<{ name: string; quota: string }>(sql.list, []);
    // A read that began later, and so has newer rows, may have ended before.
    if (number < this.#current) return;
    this.#current = number;
    const sorted = rows.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    this.#rows = sorted.map(({ quota }) => readQuota(quota));
  }

  readonly calls: Store["quotas"] = {
    list: () => this.#rows,
    put: async (row) => {
      await this.#database.query(sql.put, [quotaKey(row.kind, row.name), JSON.stringify(row), this.#notices.text("quota", "all")]);
      await this.catchUp();
    },
    delete: async (kind, name) => {
      await this.#database.query(sql.delete, [quotaKey(kind, name), this.#notices.text("quota", "all")]);
      await this.catchUp();
    },
  };
}
