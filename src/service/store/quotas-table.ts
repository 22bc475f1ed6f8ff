import type { DatabaseSync } from "node:sqlite";
import type { SqliteTables } from "./rows.ts";
import type { QuotaRow } from "./store.ts";
import { readQuota } from "./stored-json.ts";

/** Quotas, with all of them in memory. */
export function quotasTable(db: DatabaseSync): SqliteTables["quotas"] {
  const sql = {
    list: db.prepare("SELECT name, quota FROM quotas ORDER BY name"),
    put: db.prepare("INSERT INTO quotas (name, quota) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET quota = excluded.quota"),
    delete: db.prepare("DELETE FROM quotas WHERE name = ?"),
  };
  let known: readonly QuotaRow[] | undefined;
  return {
    list: () => {
      known ??= sql.list.all().map(({ quota }) => readQuota(quota as string));
      return known;
    },
    put: (row) => {
      sql.put.run(quotaKey(row.kind, row.name), JSON.stringify(row));
      known = undefined;
    },
    delete: (kind, name) => {
      sql.delete.run(quotaKey(kind, name));
      known = undefined;
    },
  };
}

/** The key of a quota's row. */
export function quotaKey(kind: QuotaRow["kind"], name: string): string {
  return `${kind} ${name}`;
}
