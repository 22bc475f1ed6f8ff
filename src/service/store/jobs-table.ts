import type { DatabaseSync } from "node:sqlite";
import { type DatabaseRoom, makesRoom } from "./database-room.ts";
import { maxStepsText } from "./history-table.ts";
import { jobKeyOfRow, jobOfRow } from "./job-rows.ts";
import { inTransaction, type Row, type SqliteTables } from "./rows.ts";
import type { JobOutcome } from "./store.ts";
import { noRoom } from "./store-troubles.ts";

/**
 * ?2 and ?3, identity and owner of the lab, are null to match any lab that was at the path. A create that was refused because the lab exists is no
 * change of that lab.
 */
const newestEndOf = `WHERE lab = ?1 AND finished_at IS NOT NULL AND coalesce(json_extract(error, '$.code'), '') <> 'lab_exists'
       AND (?2 IS NULL OR identity = ?2 OR (identity IS NULL AND user = ?3))
       ORDER BY finished_at DESC, rowid DESC LIMIT 1`;

function prepare(db: DatabaseSync) {
  return {
    insertJob: db.prepare(
      `INSERT INTO jobs (id, lab, identity, owner, operation, user, request, status, started_at, steps, done)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    beginJob: db.prepare("UPDATE jobs SET steps = ?, done = 0 WHERE id = ?"),
    progressJob: db.prepare("UPDATE jobs SET done = ? WHERE id = ?"),
    finishJob: db.prepare(
      // The request is cleared: only recovery needs it, it is large, and it may contain secrets.
      "UPDATE jobs SET status = ?, outcome = ?, finished_at = ?, result = ?, error = ?, request = 'null' WHERE id = ?",
    ),
    getJob: db.prepare("SELECT * FROM jobs WHERE id = ?"),
    newestJobs: db.prepare(
      // Without results and requests, which may be megabytes.
      `SELECT id, lab, identity, owner, operation, user, 'null' AS request, status, outcome, started_at, finished_at, steps, done, NULL AS result, error
       FROM jobs ORDER BY started_at DESC, rowid DESC LIMIT ?`,
    ),
    unfinishedJobs: db.prepare("SELECT * FROM jobs WHERE status = 'running' ORDER BY started_at, id"),
    lastJob: db.prepare(`SELECT * FROM jobs ${newestEndOf}`),
    lastEnd: db.prepare(
      `SELECT id, operation, outcome, finished_at, outcome = 'failed' AND json_array_length(steps) = 0 AS stepless FROM jobs ${newestEndOf}`,
    ),
    // The history keeps the steps, because jobs are deleted after some time.
    keepSteps: db.prepare(
      `UPDATE history SET outcome = ?2, step_count = json_array_length(jobs.steps),
         steps = CASE WHEN length(jobs.steps) <= ${maxStepsText} THEN jobs.steps END
       FROM jobs WHERE jobs.id = ?1 AND history.job = ?1`,
    ),
    // A change that had nothing to do is not a new state.
    dropSame: db.prepare(
      `DELETE FROM history WHERE job = ?1 AND step_count = 0 AND digest = (
         SELECT digest FROM history AS earlier WHERE earlier.identity = history.identity AND earlier.serial < history.serial
         ORDER BY serial DESC LIMIT 1)`,
    ),
    // A change that only asked whether nodes may stop, and the one that did it, are one state.
    dropAsked: db.prepare(
      `DELETE FROM history WHERE step_count = 0 AND job IS NOT NULL AND (identity, serial, digest) IN (
         SELECT earlier.identity, max(earlier.serial), done.digest FROM history AS done
         JOIN history AS earlier ON earlier.identity = done.identity AND earlier.serial < done.serial
         WHERE done.job = ?1 GROUP BY done.identity)`,
    ),
    purgeJobs: db.prepare("DELETE FROM jobs WHERE finished_at < ?"),
    answerKeys: db.prepare("UPDATE job_keys SET answer = ? WHERE job = ?"),
  };
}

/** The journal of jobs, with the Idempotency-Keys of their requests. `file`: the database, for messages. */
export function jobsTable(db: DatabaseSync, room: DatabaseRoom, file: string): SqliteTables["jobs"] {
  const sql = prepare(db);
  return {
    insert: (row) => {
      const { id, lab, identity = null, owner = null, operation, user, request, status, startedAt, steps, done } = row;
      const [asked, planned] = [JSON.stringify(request), JSON.stringify(steps)];
      if (!makesRoom(row) && !room.admits(asked.length)) throw noRoom(file);
      sql.insertJob.run(id, lab, identity, owner, operation, user, asked, status, startedAt, planned, done);
      room.settle(asked.length);
    },
    begin: (id, steps) => {
      sql.beginJob.run(JSON.stringify(steps), id);
    },
    progress: (id, done) => {
      sql.progressJob.run(done, id);
    },
    finish: (id, { status, outcome, finishedAt, result, error, answer }) => {
      inTransaction(db, () => {
        sql.finishJob.run(status, outcome ?? null, finishedAt ?? null, jsonOrNull(result), jsonOrNull(error), id);
        sql.keepSteps.run(id, outcome ?? null);
        sql.dropSame.run(id);
        sql.dropAsked.run(id);
        if (answer !== undefined) sql.answerKeys.run(JSON.stringify(answer), id);
      });
    },
    get: (id) => jobOfRow(sql.getJob.get(id)),
    newest: (limit) => sql.newestJobs.all(limit).map((row) => jobOfRow(row)!),
    unfinished: () => sql.unfinishedJobs.all().map((row) => jobOfRow(row)!),
    lastOf: (lab, record) => jobOfRow(sql.lastJob.get(lab, record?.identity ?? null, record?.owner ?? null)),
    lastEnd: (lab, record) => {
      const row: Row | undefined = sql.lastEnd.get(lab, record?.identity ?? null, record?.owner ?? null);
      return row === undefined
        ? undefined
        : {
            id: row["id"] as string,
            operation: row["operation"] as string,
            outcome: row["outcome"] as JobOutcome,
            finishedAt: row["finished_at"] as number,
            failedEarly: row["stepless"] === 1,
          };
    },
    purge: (finishedBefore) => {
      sql.purgeJobs.run(finishedBefore);
    },
    ...keysTable(db),
  };
}

function keysTable(db: DatabaseSync): Pick<SqliteTables["jobs"], "insertKey" | "findKey" | "purgeKeys"> {
  const sql = {
    insertKey: db.prepare("INSERT INTO job_keys (user, key, request, job, created_at) VALUES (?, ?, ?, ?, ?)"),
    findKey: db.prepare("SELECT * FROM job_keys WHERE user = ? AND key = ?"),
    purgeKeys: db.prepare("DELETE FROM job_keys WHERE created_at < ?"),
  };
  return {
    insertKey: ({ user, key, request, job, createdAt }) => {
      sql.insertKey.run(user, key, request, job, createdAt);
    },
    findKey: (user, key) => {
      return jobKeyOfRow(sql.findKey.get(user, key));
    },
    purgeKeys: (createdBefore) => {
      sql.purgeKeys.run(createdBefore);
    },
  };
}

function jsonOrNull(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}
