import { Client, type ClientBase, type ClientConfig } from "pg";
import type { PostgresAddress } from "./address.ts";
import { explained } from "./unavailable.ts";

/** Each entry brings the database from its index to the next version. Append-only. */
const migrations: readonly string[] = [
  `CREATE TABLE sessions (
     hash text PRIMARY KEY, username text NOT NULL, role text NOT NULL, credential text,
     created_at bigint NOT NULL, used_at bigint NOT NULL, revoked boolean NOT NULL
   );
   CREATE TABLE browser_sessions (
     hash text PRIMARY KEY, session text NOT NULL REFERENCES sessions (hash) ON DELETE CASCADE, created_at bigint NOT NULL,
     number bigint GENERATED ALWAYS AS IDENTITY
   );
   CREATE INDEX browser_sessions_of ON browser_sessions (session);

   CREATE TABLE services (
     id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, installation text NOT NULL, ends_at timestamptz NOT NULL, ended_at timestamptz
   );
   CREATE INDEX services_of ON services (installation) WHERE ended_at IS NULL;
   CREATE SEQUENCE fences;
   CREATE TABLE leases (lab text PRIMARY KEY, holder bigint NOT NULL REFERENCES services (id), fence bigint NOT NULL);
   CREATE INDEX leases_of ON leases (holder);

   CREATE TABLE labs (path text PRIMARY KEY, revision text NOT NULL, record text NOT NULL, contents text NOT NULL, plans text NOT NULL);
   CREATE TABLE history (
     identity text NOT NULL, serial integer NOT NULL, at bigint NOT NULL, username text, operation text, job text, outcome text,
     nodes integer NOT NULL, links integer NOT NULL, steps text, step_count integer, digest text NOT NULL, contents bytea,
     PRIMARY KEY (identity, serial)
   );
   CREATE INDEX history_by_job ON history (job) WHERE job IS NOT NULL;
   CREATE TABLE jobs (
     id text PRIMARY KEY, number bigint GENERATED ALWAYS AS IDENTITY, lab text NOT NULL, identity text, owner text, operation text NOT NULL,
     username text NOT NULL, request text NOT NULL, status text NOT NULL, outcome text, started_at bigint NOT NULL, finished_at bigint,
     steps text NOT NULL, done integer NOT NULL, result text, error text
   );
   CREATE INDEX jobs_by_lab ON jobs (lab, finished_at DESC, number DESC);
   CREATE INDEX jobs_running ON jobs (started_at) WHERE status = 'running';
   CREATE INDEX jobs_newest ON jobs (started_at DESC, number DESC);
   CREATE INDEX jobs_ended ON jobs (finished_at);
   CREATE TABLE job_keys (
     username text NOT NULL, key text NOT NULL, request text NOT NULL, job text NOT NULL, created_at bigint NOT NULL, answer text,
     PRIMARY KEY (username, key)
   );
   CREATE INDEX job_keys_by_age ON job_keys (created_at);
   CREATE INDEX job_keys_by_job ON job_keys (job);`,
  // JSON: the scope and the expiry of an API token; null for an ordinary session.
  "ALTER TABLE sessions ADD COLUMN token text",
  // name: kind and name of a quota; quota: JSON.
  "CREATE TABLE quotas (name text PRIMARY KEY, quota text NOT NULL)",
  // API tokens may be limited to labs, and changes to the rights of an ordinary user. Earlier releases ignore both limits, so they must not use the database.
  "SELECT 1",
  // account: JSON. Earlier releases would make accounts of their own.
  "CREATE TABLE accounts (name text PRIMARY KEY, account text NOT NULL)",
  // authority, labels, facts: JSON. sealed: encrypted with a key that the database does not have.
  `CREATE TABLE fleet (one boolean PRIMARY KEY DEFAULT true CHECK (one), authority text NOT NULL);
   CREATE TABLE machines (
     number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, installation text NOT NULL UNIQUE, url text NOT NULL,
     state text NOT NULL, labels text NOT NULL, facts text NOT NULL, joined_at timestamptz NOT NULL, seen_at timestamptz NOT NULL
   );
   CREATE TABLE join_tokens (hash text PRIMARY KEY, sealed text NOT NULL, expires_at timestamptz NOT NULL);
   CREATE TABLE placements (lab text PRIMARY KEY, machine integer NOT NULL, placed_at timestamptz NOT NULL);`,
  // lost: its lease was over when another machine took one of its labs over.
  "ALTER TABLE services ADD COLUMN lost boolean NOT NULL DEFAULT false",
];

/** Only one service migrates at a time; the others wait. Any constant number. */
const migrationLock = 7_119_804_225;

/** Brings the database to the version of this release, in one transaction. Throws an Error for the user if a newer release wrote it. */
export async function migrate(client: ClientBase, shown: string): Promise<void> {
  await client.query("BEGIN");
  try {
    await client.query("SELECT pg_advisory_xact_lock($1)", [migrationLock]);
    await client.query("CREATE TABLE IF NOT EXISTS labwright_version (version integer NOT NULL)");
    const { rows } = await client.query<{ version: number }>("SELECT version FROM labwright_version");
    const version = rows[0]?.version ?? 0;
    if (version > migrations.length) {
      throw new Error(
        `the database ${shown} has version ${version}, written by a newer release; this one reads versions up to ${migrations.length}: start the ` +
          "newer release, or restore a backup from before it ran",
      );
    }
    for (const migration of migrations.slice(version)) await client.query(migration);
    if (version < migrations.length) {
      await client.query("DELETE FROM labwright_version");
      await client.query("INSERT INTO labwright_version VALUES ($1)", [migrations.length]);
    }
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  }
}

/** Migrates the database over a connection of its own, whose statements may take long. Explains why it cannot be used. */
export async function prepare({ config, shown }: PostgresAddress): Promise<void> {
  const client = new Client({ ...config, connectionTimeoutMillis: 10_000, application_name: "labwright starts" } as ClientConfig);
  // Its end is reported by the statement that runs.
  client.on("error", () => {});
  try {
    await client.connect();
    await migrate(client, shown);
  } catch (error) {
    throw explained(error, shown);
  } finally {
    await client.end().catch(() => undefined);
  }
}
