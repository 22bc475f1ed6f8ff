import { randomUUID } from "node:crypto";
import type { Client, ClientConfig } from "pg";
import type { PostgresAddress } from "../address/address.ts";
import { clientOf, connectAny } from "../address/servers.ts";
import { parsers } from "../postgres/database.ts";
import { migrate, migrations } from "../postgres/migrations.ts";
import { explained } from "../postgres/unavailable.ts";
import { readLabRecord } from "../stored-json.ts";
import { type CopySource, type CopyTarget, type Installations, refuseFilled } from "./ends.ts";
import { type CopiedRow, type CopiedTable, copiedTables, plansText, type Value } from "./tables.ts";

/** Opens a PostgreSQL database as the source of a copy. Throws if a service uses it. */
export async function postgresSource(address: PostgresAddress): Promise<CopySource> {
  const client = await connected(address);
  try {
    const { rows } = await client.query<{ there: boolean }>("SELECT to_regclass('labwright_version') IS NOT NULL AS there");
    if (rows[0]?.there !== true) throw new Error(`${address.shown} has no data of Labwright: check the name of the database`);
    await migrate(client, address.shown);
    await begin(client, address.shown);
    const owners = await client.query<{ installation: string }>(
      "SELECT DISTINCT installation FROM leases JOIN services ON services.id = holder WHERE lab IN (SELECT path FROM labs) ORDER BY installation",
    );
    return {
      shown: address.shown,
      installations: owners.rows.map(({ installation }) => installation),
      rows: (table) => rowsOf(client, table),
      [Symbol.asyncDispose]: () => client.end(),
    };
  } catch (error) {
    await client.end();
    throw explained(error, address.shown);
  }
}

/** Opens a PostgreSQL database as the target of a copy, and creates its tables. Throws if it has data, or if a service uses it. */
export async function postgresTarget(address: PostgresAddress): Promise<CopyTarget> {
  const client = await connected(address);
  try {
    await migrate(client, address.shown);
    await begin(client, address.shown);
    const counts = copiedTables.map(({ name }) => `(SELECT count(*) FROM ${name}) AS ${name}`).join(", ");
    const { rows } = await client.query<Record<string, number>>(`SELECT ${counts}`);
    refuseFilled(address.shown, rows[0] ?? {}, "create an empty database for the copy (createdb)");
  } catch (error) {
    await client.end();
    throw explained(error, address.shown);
  }
  return {
    shown: address.shown,
    write: (table, copied) => write(client, table, copied).catch((error: unknown) => Promise.reject(explained(error, address.shown))),
    rows: (table) => rowsOf(client, table),
    commit: async (installations) => {
      await own(client, installations);
      await client.query("COMMIT");
    },
    // Without a commit, the end of the connection rolls everything back.
    [Symbol.asyncDispose]: () => client.end(),
  };
}

async function connected({ config, servers, shown }: PostgresAddress): Promise<Client> {
  const settings = { connectionTimeoutMillis: 10_000, application_name: "labwright store copy", types: parsers };
  const Connection = clientOf(servers);
  try {
    return await connectAny(servers, () => new Connection({ ...config, ...settings } as ClientConfig));
  } catch (error) {
    throw explained(error, shown);
  }
}

/** Begins one view of the data, and keeps services away until its end: each service writes into this table when it starts and every few seconds. */
async function begin(client: Client, shown: string): Promise<void> {
  await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
  await client.query("SET LOCAL lock_timeout = '20s'");
  await client.query("LOCK TABLE services IN SHARE ROW EXCLUSIVE MODE");
  const { rows } = await client.query<{ seconds: number }>(
    "SELECT ceil(extract(epoch FROM max(ends_at) - clock_timestamp()))::int AS seconds FROM services WHERE ended_at IS NULL AND ends_at > clock_timestamp()",
  );
  const seconds = rows[0]?.seconds ?? null;
  if (seconds === null) return;
  throw new Error(
    `a service uses ${shown}: stop it first. If it was killed, or its machine is lost, try again in ${seconds} seconds, when its lease has ended`,
  );
}

const fetched = 100;

async function* rowsOf(client: Client, table: CopiedTable): AsyncIterable<CopiedRow> {
  const order = table.key?.map((column) => (column === "serial" ? column : `${column} COLLATE "C"`)).join(", ") ?? "number";
  await client.query(`DECLARE copied NO SCROLL CURSOR FOR SELECT ${table.columns.join(", ")} FROM ${table.name} ORDER BY ${order}`);
  for (;;) {
    const { rows } = await client.query<Record<string, Value>>(`FETCH ${fetched} FROM copied`);
    for (const row of rows) {
      // Finds a damaged record, which is better known before the move than after it.
      if (table.name === "labs") readLabRecord(row["path"] as string, row["record"] as string, row["contents"] as string);
      yield table.columns.map((column) => {
        const value = row[column] as Value;
        return column === "plans" ? plansText(JSON.parse(value as string) as Record<string, unknown>) : value;
      });
    }
    if (rows.length < fetched) break;
  }
  await client.query("CLOSE copied");
}

/** The most rows, and characters of text, that one statement inserts. */
const [batchRows, batchText] = [100, 4 * 2 ** 20];

async function write(client: Client, table: CopiedTable, rows: AsyncIterable<CopiedRow>): Promise<void> {
  // Only PostgreSQL has a revision of each lab's row.
  const isLabs = table.name === "labs";
  const columns = isLabs ? [...table.columns, "revision"] : table.columns;
  let batch: CopiedRow[] = [];
  let text = 0;
  const flush = async () => {
    if (batch.length === 0) return;
    const lines = batch.map((row, at) => `(${row.map((_value, column) => `$${at * columns.length + column + 1}`).join(", ")})`);
    await client.query(`INSERT INTO ${table.name} (${columns.join(", ")}) VALUES ${lines.join(", ")}`, batch.flat());
    batch = [];
    text = 0;
  };
  for await (const row of rows) {
    batch.push(isLabs ? [...row, randomUUID()] : row);
    text += row.reduce<number>((sum, value) => sum + (typeof value === "string" || value instanceof Uint8Array ? value.length : 0), 0);
    if (batch.length >= batchRows || text >= batchText) await flush();
  }
  await flush();
}

/** Gives the labs, and the labs of unfinished changes, to the service on a state directory. It has ended, until it starts. */
async function own(client: Client, installations: Installations): Promise<void> {
  for (const installation of installations) {
    const { rows } = await client.query<{ id: number }>(
      "INSERT INTO services (installation, ends_at, ended_at, schema_version) VALUES ($1, clock_timestamp(), clock_timestamp(), $2) RETURNING id",
      [installation, migrations.length],
    );
    await client.query(
      `INSERT INTO leases (lab, holder, fence)
       SELECT lab, $1, nextval('fences') FROM (SELECT path AS lab FROM labs UNION SELECT lab FROM jobs WHERE status = 'running') AS owned
       ON CONFLICT (lab) DO UPDATE SET holder = excluded.holder, fence = excluded.fence`,
      [rows[0]?.id],
    );
  }
}
