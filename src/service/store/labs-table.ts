import type { DatabaseSync } from "node:sqlite";
import type { DatabaseRoom } from "./database-room.ts";
import { inTransaction, type Row, type SqliteTables } from "./rows.ts";
import type { Direction, LabRecord } from "./store.ts";
import { readLabRecord } from "./stored-json.ts";

/** The large fields of a lab's record: written only if they changed. */
export const contentParts = ["yaml", "files", "applied", "source"] as const;

function prepare(db: DatabaseSync) {
  return {
    getLab: db.prepare("SELECT path, record, contents FROM labs LEFT JOIN lab_contents USING (path) WHERE path = ?"),
    putLab: db.prepare("INSERT INTO labs (path, record) VALUES (?, ?) ON CONFLICT (path) DO UPDATE SET record = excluded.record"),
    deleteLab: db.prepare("DELETE FROM labs WHERE path = ?"),
    putContents: db.prepare(
      "INSERT INTO lab_contents (path, contents) VALUES (?, ?) ON CONFLICT (path) DO UPDATE SET contents = excluded.contents",
    ),
    deleteContents: db.prepare("DELETE FROM lab_contents WHERE path = ?"),
    listLabs: db.prepare("SELECT path, record, contents FROM labs LEFT JOIN lab_contents USING (path) ORDER BY path"),
    plansOf: db.prepare("SELECT direction, identity FROM plans WHERE path = ?"),
    putPlan: db.prepare(
      "INSERT INTO plans (path, direction, identity) VALUES (?, ?, ?) ON CONFLICT (path, direction) DO UPDATE SET identity = excluded.identity",
    ),
    deleteHistory: db.prepare("DELETE FROM history WHERE identity = (SELECT json_extract(record, '$.identity') FROM labs WHERE path = ?)"),
    deletePlans: db.prepare("DELETE FROM plans WHERE path = ?"),
  };
}

/** Records of labs, and the identities of their newest plans. */
export function labsTable(db: DatabaseSync, room: DatabaseRoom): SqliteTables["labs"] {
  const sql = prepare(db);

  /** Cache of records: only this process writes the file, and status polls read the same record repeatedly. */
  const records = new Map<string, LabRecord>();
  const labOf = (row: Row | undefined): LabRecord | undefined => {
    if (row === undefined) return undefined;
    const path = row["path"] as string;
    const known = records.get(path);
    if (known !== undefined) return known;
    const record = readLabRecord(path, row["record"] as string, row["contents"] as string | null);
    const plans = Object.fromEntries(sql.plansOf.all(path).map((plan) => [plan["direction"] as Direction, plan["identity"] as string]));
    const complete = { ...record, plans };
    records.set(path, complete);
    return complete;
  };

  return {
    get: (path) => records.get(path) ?? labOf(sql.getLab.get(path)),
    put: (complete) => {
      const { plans, yaml, files, applied, source, ...record } = complete;
      const before = records.get(record.path);
      const isSame = before !== undefined && contentParts.every((part) => before[part] === complete[part]);
      const contents = isSame ? undefined : JSON.stringify({ yaml, files, applied, source });
      records.delete(record.path);
      // In one transaction, because the disk may become full between two of these writes.
      inTransaction(db, () => {
        sql.putLab.run(record.path, JSON.stringify(record));
        if (contents !== undefined) sql.putContents.run(record.path, contents);
        sql.deletePlans.run(record.path);
        for (const [direction, identity] of Object.entries(plans)) sql.putPlan.run(record.path, direction, identity);
      });
      records.set(record.path, complete);
      if (contents !== undefined) room.settle(contents.length);
    },
    putPlan: (path, direction, identity) => {
      records.delete(path);
      sql.putPlan.run(path, direction, identity);
    },
    delete: (path) => {
      records.delete(path);
      inTransaction(db, () => {
        sql.deleteHistory.run(path);
        sql.deleteLab.run(path);
        sql.deleteContents.run(path);
        sql.deletePlans.run(path);
      });
    },
    list: () => sql.listLabs.all().map((row) => labOf(row)!),
  };
}
