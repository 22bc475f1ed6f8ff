import type { DatabaseSync } from "node:sqlite";
import { deflateSync, inflateSync } from "node:zlib";
import type { DatabaseRoom } from "./database-room.ts";
import { inTransaction, type Row, type SqliteTables } from "./rows.ts";
import type { HistoryRow, JobOutcome, JobStep } from "./store.ts";

/** Maximum numbers of states of one lab, and of bytes of their compressed texts. The oldest ones are deleted. */
export const [maxStates, maxBytes] = [50, 4 * 2 ** 20];
/** A longer text of a state, in characters of JSON, is not kept: it would delete the texts of all others. */
export const maxText = 4 * 2 ** 20;

/** Steps of a change that are longer than this as JSON are only counted. */
export const maxStepsText = 65_536;

function prepare(db: DatabaseSync) {
  return {
    // An interrupted change that recovery continues records its intent again.
    clear: db.prepare("DELETE FROM history WHERE identity = ?1 AND (serial >= ?2 OR job = ?3)"),
    insert: db.prepare(
      `INSERT INTO history (identity, serial, at, user, operation, job, nodes, links, digest, contents)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    deleteOld: db.prepare(
      `DELETE FROM history WHERE identity = ?1 AND serial NOT IN (
         SELECT serial FROM (
           SELECT serial, row_number() OVER newest AS number, sum(coalesce(length(contents), 0)) OVER newest AS bytes
           FROM history WHERE identity = ?1 WINDOW newest AS (ORDER BY serial DESC)
         ) WHERE number <= ${maxStates} AND bytes <= ${maxBytes})`,
    ),
    list: db.prepare(
      `SELECT serial, at, user, operation, job, outcome, nodes, links, steps, step_count, contents IS NOT NULL AS has_text
       FROM history WHERE identity = ? ORDER BY serial DESC`,
    ),
    text: db.prepare("SELECT contents FROM history WHERE identity = ? AND serial = ?"),
    forget: db.prepare("DELETE FROM history WHERE identity = ? AND serial > ?"),
  };
}

/** The earlier intents of labs. A lab's history is deleted with its record. */
export function historyTable(db: DatabaseSync, room: DatabaseRoom): SqliteTables["history"] {
  const sql = prepare(db);
  return {
    add: ({ identity, serial, at, user, operation, job, nodes, links, digest }, text) => {
      const json = JSON.stringify(text);
      const contents = json.length > maxText ? null : deflateSync(json, { level: 1 });
      inTransaction(db, () => {
        sql.clear.run(identity, serial, job ?? null);
        sql.insert.run(identity, serial, at, user ?? null, operation ?? null, job ?? null, nodes, links, digest, contents);
        sql.deleteOld.run(identity);
      });
      if (contents !== null) room.settle(contents.length);
    },
    list: (identity) => sql.list.all(identity).map(historyOfRow),
    text: (identity, serial) => {
      const contents = sql.text.get(identity, serial)?.["contents"];
      return contents === undefined || contents === null ? undefined : JSON.parse(inflateSync(contents as Uint8Array).toString());
    },
    forgetAfter: (identity, serial) => {
      sql.forget.run(identity, serial);
    },
  };
}

/** Returns the state of a row. */
export function historyOfRow(row: Row): HistoryRow {
  const steps = row["steps"] === null ? undefined : (JSON.parse(row["steps"] as string) as readonly JobStep[]);
  return {
    serial: row["serial"] as number,
    at: row["at"] as number,
    ...(row["user"] !== null && { user: row["user"] as string }),
    ...(row["operation"] !== null && { operation: row["operation"] as string }),
    ...(row["job"] !== null && { job: row["job"] as string }),
    ...(row["outcome"] !== null && { outcome: row["outcome"] as JobOutcome }),
    nodes: row["nodes"] as number,
    links: row["links"] as number,
    ...(steps !== undefined && { steps }),
    ...(row["step_count"] !== null && { stepCount: row["step_count"] as number }),
    hasText: row["has_text"] === 1,
  };
}
