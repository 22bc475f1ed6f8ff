import type { Client, ClientBase, ClientConfig } from "pg";
import type { PostgresAddress } from "../address/address.ts";
import { clientOf, connectAny } from "../address/servers.ts";
import { explained } from "./unavailable.ts";

/** A change of the tables. Its version is its place in the list, from 1. */
export interface Migration {
  readonly text: string;
  /** The lowest version that a release must have to go on reading and writing after the change. Its own version: no earlier release can. */
  readonly worksWith: number;
}

/** The changes before releases worked together. Append-only, as is `later`. */
const first: readonly string[] = [
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

/** The version of releases that write no version of their own. */
const firstVersion = first.length;

/** SQLSTATE of the database for a service of a release that the tables are too new for. */
export const tooOldCode = "LW001";

const later: readonly Migration[] = [
  {
    worksWith: firstVersion,
    // The database refuses the lease of a release that is too old, also of one that was cut off while the tables were changed.
    text: `ALTER TABLE services ADD COLUMN schema_version integer;
      CREATE FUNCTION labwright_refuse_older() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF coalesce(NEW.schema_version, ${firstVersion}) < (SELECT version FROM labwright_version) THEN
          RAISE EXCEPTION 'the tables are of a newer release of labwright' USING ERRCODE = '${tooOldCode}';
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER labwright_refuse_older BEFORE INSERT ON services FOR EACH ROW EXECUTE FUNCTION labwright_refuse_older();`,
  },
  // drain: JSON; null: the labs of the machine stay there.
  { worksWith: firstVersion, text: "ALTER TABLE machines ADD COLUMN drain text" },
  // reservation: JSON. The releases before do not know reservations, and so do not respect them.
  {
    worksWith: firstVersion,
    text: "CREATE TABLE reservations (id text PRIMARY KEY, ends_at bigint NOT NULL, reservation text NOT NULL)",
  },
  // The numbers of links between machines: one is used again only after 8 million others, so that a machine that was away has none of a new link.
  { worksWith: firstVersion, text: "CREATE SEQUENCE spread_vnis AS integer MINVALUE 8388608 MAXVALUE 16777215 CYCLE" },
  { worksWith: firstVersion, text: "CREATE INDEX placements_by_age ON placements (placed_at)" },
  // Quotas count labs by their owners. The trigger also fills the columns for the releases before, which do not write them. A lab whose record has no size counts as
  // its host had it. JSON of PostgreSQL has no place for the character 0, which texts of labs may contain.
  {
    worksWith: firstVersion,
    text: `ALTER TABLE labs ADD COLUMN owner text, ADD COLUMN nodes integer, ADD COLUMN memory double precision;
      CREATE FUNCTION labwright_size_of_lab() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE record json; size json; BEGIN
        record := replace(NEW.record, '\\u0000', '\\ufffd')::json;
        size := record->'size';
        NEW.owner := record->>'owner';
        NEW.nodes := (size->>'nodes')::integer;
        NEW.memory := (size->>'memory')::double precision;
        IF NEW.nodes IS NULL THEN
          SELECT count(*), coalesce(sum(coalesce((node->>'ram')::double precision, 0)), 0) INTO NEW.nodes, NEW.memory
            FROM json_array_elements(coalesce(replace(NEW.contents, '\\u0000', '\\ufffd')::json#>'{applied,nodes}', '[]')) AS node;
        END IF;
        RETURN NEW;
      -- A damaged record is reported when it is read.
      EXCEPTION WHEN invalid_text_representation THEN RETURN NEW;
      END $$;
      CREATE TRIGGER labwright_size_of_lab BEFORE INSERT OR UPDATE OF record ON labs FOR EACH ROW EXECUTE FUNCTION labwright_size_of_lab();
      UPDATE labs SET record = record;
      CREATE INDEX labs_by_owner ON labs (owner) INCLUDE (path, nodes, memory);`,
  },
  // Every machine reads the facts of all others every few seconds: their lists of images, which are long and seldom change, are read only if they are new.
  {
    worksWith: firstVersion,
    text: `ALTER TABLE machines ADD COLUMN short_facts text, ADD COLUMN images text, ADD COLUMN images_digest text;
      CREATE FUNCTION labwright_split_facts() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE all_facts jsonb := NEW.facts::jsonb; BEGIN
        NEW.short_facts := all_facts - 'images';
        NEW.images := all_facts->'images';
        NEW.images_digest := md5(NEW.images);
        RETURN NEW;
      END $$;
      CREATE TRIGGER labwright_split_facts BEFORE INSERT OR UPDATE OF facts ON machines FOR EACH ROW EXECUTE FUNCTION labwright_split_facts();
      UPDATE machines SET facts = facts;`,
  },
];

/** The changes of this release and of all before it. */
export const migrations: readonly Migration[] = [...first.map((text, index) => ({ text, worksWith: index + 1 })), ...later];

/** A service counts as running until this time after the end of its lease: 60 s after its last renewal, ms. */
const restMs = 30_000;

/** Only one service migrates at a time; the others wait. Any constant number. */
const migrationLock = 7_119_804_225;

export interface MigrateOptions {
  /** Of the service that starts: its predecessor on the same state directory has ended. Absent: another program. */
  readonly installation?: string | undefined;
  /** Absent: those of this release. */
  readonly known?: readonly Migration[] | undefined;
}

/**
 * Brings the database to the version of this release, in one transaction. Releases that the changes leave working go on meanwhile. Throws an Error for the user
 * if a newer release wrote the database, or if services run that the changes would break.
 */
export async function migrate(
  client: ClientBase,
  shown: string,
  { installation = "", known = migrations }: MigrateOptions = {},
): Promise<void> {
  await client.query("BEGIN");
  try {
    await client.query("SELECT pg_advisory_xact_lock($1)", [migrationLock]);
    await client.query("CREATE TABLE IF NOT EXISTS labwright_version (version integer NOT NULL)");
    // version: the lowest version of a release that may use the tables, which is what the first releases compare with. applied: the number of changes.
    const { rows } = await client.query<{ row: { version: number; applied?: number } }>(
      "SELECT to_jsonb(v) AS row FROM labwright_version v",
    );
    const { version, applied = version } = rows[0]?.row ?? { version: 0 };
    if (version > known.length) {
      throw new Error(
        `the database ${shown} has version ${version}, written by a newer release; this one reads versions up to ${known.length}: start the ` +
          "newer release, or restore a backup from before it ran",
      );
    }
    if (applied < known.length) {
      const lowest = Math.max(...known.map(({ worksWith }) => worksWith));
      if (applied > 0) await endOlder(client, shown, { installation, lowest });
      for (const { text } of known.slice(applied)) await client.query(text);
      await client.query("ALTER TABLE labwright_version ADD COLUMN IF NOT EXISTS applied integer");
      await client.query("DELETE FROM labwright_version");
      await client.query("INSERT INTO labwright_version (version, applied) VALUES ($1, $2)", [lowest, known.length]);
    }
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  }
}

/** Ends the leases of lost services below a version, so that they get no new one. Throws if such a service runs, or ran a moment ago. */
async function endOlder(
  client: ClientBase,
  shown: string,
  { installation, lowest }: { installation: string; lowest: number },
): Promise<void> {
  const older = `s.ended_at IS NULL AND s.installation <> $1 AND coalesce((to_jsonb(s)->>'schema_version')::integer, ${firstVersion}) < $2`;
  // No service can renew its lease between this look and the end of the transaction.
  await client.query("LOCK TABLE services IN SHARE ROW EXCLUSIVE MODE");
  const isThere = await client.query<{ there: boolean }>("SELECT to_regclass('machines') IS NOT NULL AS there");
  const named =
    isThere.rows[0]?.there === true
      ? "(SELECT m.name || ' (release ' || (m.facts::jsonb->>'version') || ')' FROM machines m WHERE m.installation = s.installation)"
      : "NULL";
  const { rows } = await client.query<{ name: string; seconds: number }>(
    `SELECT coalesce(${named}, 'a service that is no machine of a fleet (installation ' || s.installation || ')') AS name,
       ceil(extract(epoch FROM s.ends_at - clock_timestamp()) + $3 / 1000.0)::integer AS seconds
     FROM services s WHERE ${older} AND s.ends_at > clock_timestamp() - $3 * interval '1 ms' ORDER BY name`,
    [installation, lowest, restMs],
  );
  if (rows.length > 0) {
    throw new Error(
      `the tables of ${shown} cannot be changed to this release while services of an older one run that could not use them any more: ` +
        `${rows.map(({ name }) => name).join(", ")}. Stop the service there (labs run on), install this release there, and start again. ` +
        `Services that were killed, or whose machines are lost, count for ${Math.max(...rows.map(({ seconds }) => seconds))} more seconds`,
    );
  }
  await client.query(`UPDATE services s SET ended_at = clock_timestamp() WHERE ${older}`, [installation, lowest]);
}

/** Migrates the database over a connection of its own, whose statements may take long. Explains why it cannot be used. */
export async function prepare({ config, servers, shown }: PostgresAddress, options?: MigrateOptions): Promise<void> {
  const Connection = clientOf(servers);
  const settings = { ...config, connectionTimeoutMillis: 10_000, application_name: "labwright starts" } as ClientConfig;
  let client: Client | undefined;
  try {
    client = await connectAny(servers, () => new Connection(settings));
    await migrate(client, shown, options);
  } catch (error) {
    throw explained(error, shown);
  } finally {
    await client?.end().catch(() => undefined);
  }
}
