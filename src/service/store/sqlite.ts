import type { DatabaseSync } from "node:sqlite";
import { DatabaseRoom } from "./database-room.ts";
import { historyTable } from "./history-table.ts";
import { jobsTable } from "./jobs-table.ts";
import { labsTable } from "./labs-table.ts";
import { type DatabaseOptions, openDatabase } from "./open-database.ts";
import { quotasTable } from "./quotas-table.ts";
import { reservationsTable } from "./reservations-table.ts";
import { sessionsTable } from "./sessions-table.ts";
import type { Store } from "./store.ts";
import { storeOf } from "./store-troubles.ts";

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
  // contents: yaml and files as compressed JSON; null if they are too large. digest: of these, to recognise a state that is the same as the one before.
  `CREATE TABLE history (
     identity TEXT NOT NULL, serial INTEGER NOT NULL, at INTEGER NOT NULL, user TEXT, operation TEXT, job TEXT, outcome TEXT,
     nodes INTEGER NOT NULL, links INTEGER NOT NULL, steps TEXT, step_count INTEGER, digest TEXT NOT NULL, contents BLOB,
     PRIMARY KEY (identity, serial)
   ) STRICT;
   CREATE INDEX history_by_job ON history (job) WHERE job IS NOT NULL;`,
  // JSON: the scope and the expiry of an API token; null for an ordinary session.
  "ALTER TABLE sessions ADD COLUMN token TEXT",
  // name: kind and name of a quota; quota: JSON.
  "CREATE TABLE quotas (name TEXT PRIMARY KEY, quota TEXT NOT NULL) STRICT",
  // API tokens may be limited to labs, and changes to the rights of an ordinary user. Earlier releases ignore both limits, so they must not use the database.
  "SELECT 1",
  // reservation: JSON.
  "CREATE TABLE reservations (id TEXT PRIMARY KEY, ends_at INTEGER NOT NULL, reservation TEXT NOT NULL) STRICT",
];

/**
 * Opens the store in one SQLite file (mode 0600; ":memory:" stores nothing on disk). Throws an Error with a readable message if the file cannot be
 * used.
 */
export function sqliteStore(file: string, options: DatabaseOptions = {}): Store {
  const db = openDatabase(file, options);
  migrate(db, file);
  const room = new DatabaseRoom(db, file);

  const tables = {
    sessions: sessionsTable(db),
    labs: labsTable(db, room),
    jobs: jobsTable(db, room, file),
    history: historyTable(db, room),
    quotas: quotasTable(db),
    reservations: reservationsTable(db),
  };
  return storeOf(tables, file, room);
}

/** Brings the database to the version of this release. Throws an Error for the user, and closes it, if a newer release wrote it. */
export function migrate(db: DatabaseSync, file: string): void {
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
