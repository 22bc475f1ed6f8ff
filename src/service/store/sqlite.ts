import type { DatabaseSync } from "node:sqlite";
import { DatabaseRoom, makesRoom } from "./database-room.ts";
import { type DatabaseOptions, openDatabase } from "./open-database.ts";
import type { Direction, JobError, JobOutcome, JobRow, JobStatus, JobStep, LabRecord, SessionRow, Store } from "./store.ts";
import { noRoom, withClearErrors } from "./store-troubles.ts";
import { readJobAnswer, readLabRecord } from "./stored-json.ts";

/** Each entry brings the database from its index to the next version. Append-only. */
const migrations = [
  `CREATE TABLE sessions (
     hash TEXT PRIMARY KEY, user TEXT NOT NULL, role TEXT NOT NULL,
     created_at INTEGER NOT NULL, used_at INTEGER NOT NULL, revoked INTEGER NOT NULL DEFAULT 0
   ) STRICT;
   CREATE TABLE labs (path TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT;
   CREATE TABLE plans (
     path TEXT NOT NULL, direction TEXT NOT NULL, identity TEXT NOT NULL, PRIMARY KEY (path, direction)
   ) STRICT;
   CREATE TABLE jobs (
     id TEXT PRIMARY KEY, lab TEXT NOT NULL, operation TEXT NOT NULL, user TEXT NOT NULL, request TEXT NOT NULL,
     status TEXT NOT NULL, outcome TEXT, started_at INTEGER NOT NULL, finished_at INTEGER,
     steps TEXT NOT NULL, done INTEGER NOT NULL, result TEXT, error TEXT
   ) STRICT;
   CREATE INDEX jobs_by_lab ON jobs (lab, finished_at);
   CREATE INDEX jobs_running ON jobs (started_at) WHERE status = 'running';`,
  `CREATE TABLE browser_sessions (
     hash TEXT PRIMARY KEY, session TEXT NOT NULL REFERENCES sessions (hash) ON DELETE CASCADE, created_at INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX browser_sessions_of ON browser_sessions (session, created_at);`,
  `CREATE TABLE job_keys (
     user TEXT NOT NULL, key TEXT NOT NULL, request TEXT NOT NULL, job TEXT NOT NULL, created_at INTEGER NOT NULL, PRIMARY KEY (user, key)
   ) STRICT;
   CREATE INDEX job_keys_by_age ON job_keys (created_at);`,
  "ALTER TABLE sessions ADD COLUMN credential TEXT",
  `ALTER TABLE jobs ADD COLUMN identity TEXT;
   ALTER TABLE jobs ADD COLUMN owner TEXT;
   ALTER TABLE job_keys ADD COLUMN answer TEXT;
   CREATE INDEX job_keys_by_job ON job_keys (job);
   UPDATE labs SET record = json_set(record, '$.identity', lower(hex(randomblob(12))));`,
  // Large fields that rarely change are in a table of their own, so that a lab's power can be written on a full disk. Rows of older versions have them in their record.
  "CREATE TABLE lab_contents (path TEXT PRIMARY KEY, contents TEXT NOT NULL) STRICT",
];

/** The large fields of a lab's record: written only if they changed. */
const contentParts = ["yaml", "files", "applied", "source"] as const;

/** ?2 and ?3, identity and owner of the lab, are null to match any lab that was at the path. */
const newestEndOf = `WHERE lab = ?1 AND finished_at IS NOT NULL
       AND (?2 IS NULL OR identity = ?2 OR (identity IS NULL AND user = ?3))
       ORDER BY finished_at DESC, rowid DESC LIMIT 1`;

/**
 * Opens the store in one SQLite file (mode 0600; ":memory:" stores nothing on disk). Throws an Error with a readable message if the file cannot be
 * used.
 */
export function sqliteStore(file: string, options: DatabaseOptions = {}): Store {
  const db = openDatabase(file, options);
  migrate(db, file);
  const room = new DatabaseRoom(db, file);

  const sql = {
    insertSession: db.prepare(
      "INSERT INTO sessions (hash, user, role, credential, created_at, used_at, revoked) VALUES (?, ?, ?, ?, ?, ?, ?)",
    ),
    findSession: db.prepare("SELECT * FROM sessions WHERE hash = ?"),
    touchSession: db.prepare("UPDATE sessions SET used_at = ? WHERE hash = ?"),
    setRole: db.prepare("UPDATE sessions SET role = ? WHERE hash = ?"),
    revokeSession: db.prepare("UPDATE sessions SET revoked = 1 WHERE hash = ?"),
    purgeSessions: db.prepare("DELETE FROM sessions WHERE created_at < ?"),
    countSessions: db.prepare("SELECT count(*) AS count FROM sessions WHERE revoked = 0 AND used_at > ? AND created_at > ?"),
    insertBrowser: db.prepare("INSERT INTO browser_sessions (hash, session, created_at) VALUES (?, ?, ?)"),
    trimBrowsers: db.prepare(
      `DELETE FROM browser_sessions WHERE session = ?1 AND rowid NOT IN
       (SELECT rowid FROM browser_sessions WHERE session = ?1 ORDER BY created_at DESC, rowid DESC LIMIT ?2)`,
    ),
    findByBrowser: db.prepare(
      "SELECT sessions.* FROM browser_sessions JOIN sessions ON sessions.hash = browser_sessions.session WHERE browser_sessions.hash = ?",
    ),
    endBrowsers: db.prepare("DELETE FROM browser_sessions WHERE session = ?"),
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
    deletePlans: db.prepare("DELETE FROM plans WHERE path = ?"),
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
    lastEnd: db.prepare(`SELECT id, operation, outcome, finished_at FROM jobs ${newestEndOf}`),
    purgeJobs: db.prepare("DELETE FROM jobs WHERE finished_at < ?"),
    insertKey: db.prepare("INSERT INTO job_keys (user, key, request, job, created_at) VALUES (?, ?, ?, ?, ?)"),
    answerKeys: db.prepare("UPDATE job_keys SET answer = ? WHERE job = ?"),
    findKey: db.prepare("SELECT * FROM job_keys WHERE user = ? AND key = ?"),
    purgeKeys: db.prepare("DELETE FROM job_keys WHERE created_at < ?"),
  };

  const whole = (work: () => void): void => {
    db.exec("BEGIN");
    try {
      work();
      db.exec("COMMIT");
    } catch (error) {
      // A full disk may have rolled it back already.
      if (db.isTransaction) db.exec("ROLLBACK");
      throw error;
    }
  };

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

  const store: Store = {
    sessions: {
      insert: (row) => {
        sql.insertSession.run(row.hash, row.user, row.role, row.credential ?? null, row.createdAt, row.usedAt, row.revoked ? 1 : 0);
      },
      find: (hash) => sessionOf(sql.findSession.get(hash)),
      touch: (hash, usedAt) => {
        sql.touchSession.run(usedAt, hash);
      },
      setRole: (hash, role) => {
        sql.setRole.run(role, hash);
      },
      revoke: (hash) => {
        sql.revokeSession.run(hash);
        sql.endBrowsers.run(hash);
      },
      purge: (createdBefore) => {
        sql.purgeSessions.run(createdBefore);
      },
      count: (usedAfter, createdAfter) => (sql.countSessions.get(usedAfter, createdAfter) as { count: number }).count,
      insertBrowser: ({ hash, session, createdAt }, limit) => {
        sql.insertBrowser.run(hash, session, createdAt);
        sql.trimBrowsers.run(session, limit);
      },
      findByBrowser: (hash) => sessionOf(sql.findByBrowser.get(hash)),
    },
    labs: {
      get: (path) => records.get(path) ?? labOf(sql.getLab.get(path)),
      put: (complete) => {
        const { plans, yaml, files, applied, source, ...record } = complete;
        const before = records.get(record.path);
        const isSame = before !== undefined && contentParts.every((part) => before[part] === complete[part]);
        const contents = isSame ? undefined : JSON.stringify({ yaml, files, applied, source });
        records.delete(record.path);
        // In one transaction, because the disk may become full between two of these writes.
        whole(() => {
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
        whole(() => {
          sql.deleteLab.run(path);
          sql.deleteContents.run(path);
          sql.deletePlans.run(path);
        });
      },
      list: () => sql.listLabs.all().map((row) => labOf(row)!),
    },
    jobs: {
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
        whole(() => {
          sql.finishJob.run(status, outcome ?? null, finishedAt ?? null, jsonOrNull(result), jsonOrNull(error), id);
          if (answer !== undefined) sql.answerKeys.run(JSON.stringify(answer), id);
        });
      },
      get: (id) => jobOf(sql.getJob.get(id)),
      newest: (limit) => sql.newestJobs.all(limit).map((row) => jobOf(row)!),
      unfinished: () => sql.unfinishedJobs.all().map((row) => jobOf(row)!),
      lastOf: (lab, record) => jobOf(sql.lastJob.get(lab, record?.identity ?? null, record?.owner ?? null)),
      lastEnd: (lab, record) => {
        const row: Row | undefined = sql.lastEnd.get(lab, record?.identity ?? null, record?.owner ?? null);
        return row === undefined
          ? undefined
          : {
              id: row["id"] as string,
              operation: row["operation"] as string,
              outcome: row["outcome"] as JobOutcome,
              finishedAt: row["finished_at"] as number,
            };
      },
      purge: (finishedBefore) => {
        sql.purgeJobs.run(finishedBefore);
      },
      insertKey: ({ user, key, request, job, createdAt }) => {
        sql.insertKey.run(user, key, request, job, createdAt);
      },
      findKey: (user, key) => {
        const row: Row | undefined = sql.findKey.get(user, key);
        if (row === undefined) return undefined;
        return {
          user,
          key,
          request: row["request"] as string,
          job: row["job"] as string,
          createdAt: row["created_at"] as number,
          ...(row["answer"] !== null && { answer: readJobAnswer(row["job"] as string, row["answer"] as string) }),
        };
      },
      purgeKeys: (createdBefore) => {
        sql.purgeKeys.run(createdBefore);
      },
    },
    close: () => room.close(),
  };
  return withClearErrors(store, file, room);
}

type Row = Readonly<Record<string, unknown>>;

function migrate(db: DatabaseSync, file: string): void {
  const version = (db.prepare("PRAGMA user_version").get() as { user_version: number }).user_version;
  if (version > migrations.length) {
    db.close();
    throw new Error(
      `the database ${file} has version ${version}, written by a newer release; this one reads versions up to ${migrations.length}: start the newer ` +
        "release, or restore a backup from before it ran",
    );
  }
  for (let next = version; next < migrations.length; next += 1) {
    db.exec(`BEGIN; ${migrations[next]}; PRAGMA user_version = ${next + 1}; COMMIT`);
  }
}

function sessionOf(row: Row | undefined): SessionRow | undefined {
  if (row === undefined) return undefined;
  return {
    hash: row["hash"] as string,
    user: row["user"] as string,
    role: row["role"] as SessionRow["role"],
    ...(row["credential"] !== null && { credential: row["credential"] as string }),
    createdAt: row["created_at"] as number,
    usedAt: row["used_at"] as number,
    revoked: row["revoked"] === 1,
  };
}

function jobOf(row: Row | undefined): JobRow | undefined {
  if (row === undefined) return undefined;
  const [request, steps] = [readJson(row["request"]), readJson(row["steps"])];
  return {
    id: row["id"] as string,
    lab: row["lab"] as string,
    ...(row["identity"] !== null && { identity: row["identity"] as string }),
    ...(row["owner"] !== null && { owner: row["owner"] as string }),
    ...((request === undefined || !isSteps(steps)) && { unreadable: true as const }),
    operation: row["operation"] as string,
    user: row["user"] as string,
    request: request ?? null,
    status: row["status"] as JobStatus,
    ...(row["outcome"] === null ? {} : { outcome: row["outcome"] as JobOutcome }),
    startedAt: row["started_at"] as number,
    ...(row["finished_at"] === null ? {} : { finishedAt: row["finished_at"] as number }),
    steps: isSteps(steps) ? steps : [],
    done: row["done"] as number,
    ...(row["result"] === null ? {} : { result: readJson(row["result"]) }),
    ...(row["error"] === null ? {} : { error: errorOf(readJson(row["error"])) }),
  };
}

/** Returns `undefined` for a damaged text: one row must not prevent the start of the service or the list of jobs. */
function readJson(text: unknown): unknown {
  try {
    return JSON.parse(text as string);
  } catch {
    return undefined;
  }
}

function isSteps(value: unknown): value is readonly JobStep[] {
  return Array.isArray(value) && value.every((step) => typeof step === "object" && step !== null && typeof step.key === "string");
}

function errorOf(value: unknown): JobError {
  const known = value as Partial<JobError> | null | undefined;
  if (typeof known?.code === "string" && typeof known.error === "string") return known as JobError;
  return { code: "internal", error: "the job's error cannot be read any more" };
}

function jsonOrNull(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}
