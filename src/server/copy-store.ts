/** The program of `labwright store copy`: copies the data of a stopped service into another database. */
import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { AccountRow } from "../hosts/host-accounts.ts";
import { readAccountFile } from "../hosts/local/accounts/file-accounts.ts";
import { localPaths } from "../hosts/local/machine/paths.ts";
import { type PostgresAddress, postgresAddress } from "../service/store/address/address.ts";
import { type CopiedSum, copyStore } from "../service/store/copy/copy-store.ts";
import type { CopySource, CopyTarget } from "../service/store/copy/ends.ts";
import { postgresSource, postgresTarget } from "../service/store/copy/postgres-ends.ts";
import { sqliteSource, sqliteTarget } from "../service/store/copy/sqlite-ends.ts";
import { installationOf } from "./process/installation.ts";
import { holdStateDir } from "./process/state-lock.ts";
import { returnAccounts } from "./shared-accounts.ts";

const help = `Usage: labwright store copy FROM TO [--store-password-file FILE] [--format json]

Copies the data of a stopped service: accounts, sessions, records of labs, their history and the journal of changes. FROM and TO are

  sqlite:FILE          the file labwright.db of a state directory; sqlite: alone is the one of LABWRIGHT_STATE_DIR or its default
  postgres://URL       a PostgreSQL database, as for labwright serve --store

A target that has data is refused. The copy is compared with the source, row by row, before it is kept; a copy that fails leaves nothing. The
source stays as it is, except that tables of an older release are brought to this one. Disks and images are not part of it.

  --store-password-file FILE   the password of the PostgreSQL database; otherwise PGPASSWORD or ~/.pgpass
  --format FORMAT              table or json
  --help`;

interface Ends {
  readonly file: string;
  readonly address: PostgresAddress;
  readonly isToPostgres: boolean;
}

function endsOf(from: string, to: string, passwordFile: string | undefined): Ends {
  const [source, target] = [from, to].map((text) => (text.startsWith("sqlite:") ? "sqlite" : "postgres"));
  if (source === target) {
    const other = source === "sqlite" ? "copy the file of a stopped service instead" : "use pg_dump instead";
    throw new Error(`a copy is from sqlite: to postgres://, or back, not from ${source} to ${target}: ${other}`);
  }
  const [sqlite, url] = source === "sqlite" ? [from, to] : [to, from];
  const path = sqlite.slice("sqlite:".length).replace(/^\/\/(?=\/)/, "");
  const file = path === "" ? join(localPaths(process.env, process.getuid?.() ?? 0).state, "labwright.db") : resolve(path);
  if (basename(file) !== "labwright.db") {
    throw new Error(`sqlite: names the file labwright.db of a state directory, not ${file}: a service would not find another name`);
  }
  return { file, address: postgresAddress(url, { passwordFile }), isToPostgres: source === "sqlite" };
}

async function opened({ file, address, isToPostgres }: Ends): Promise<{ readonly source: CopySource; readonly target: CopyTarget }> {
  if (!isToPostgres) {
    const source = await postgresSource(address);
    try {
      refuseSeveral(source);
      return { source, target: sqliteTarget(file, (accounts) => returnAccounts(usersFile(file), accounts)) };
    } catch (error) {
      await source[Symbol.asyncDispose]();
      throw error;
    }
  }
  const source = sqliteSource(file, installationOf(dirname(file)), accountsBeside(file));
  try {
    return { source, target: await postgresTarget(address) };
  } catch (error) {
    await source[Symbol.asyncDispose]();
    throw error;
  }
}

function usersFile(database: string): string {
  return join(dirname(database), "users.json");
}

/** Returns the accounts of a state directory; none if they are in a database, or if its users are those of another host. */
function accountsBeside(database: string): readonly AccountRow[] {
  const file = usersFile(database);
  const found = existsSync(file) ? readAccountFile(file) : undefined;
  return found !== undefined && "accounts" in found ? found.accounts : [];
}

/** One file has the labs of one machine. */
function refuseSeveral({ installations, shown }: CopySource): void {
  if (installations.length < 2) return;
  throw new Error(
    `${shown} has the labs of ${installations.length} services (installation-id ${installations.join(", ")}), and one file has those of one: destroy the ` +
      "labs of the others, or keep PostgreSQL",
  );
}

async function copy(ends: Ends): Promise<readonly CopiedSum[]> {
  const directory = dirname(ends.file);
  if (!existsSync(directory)) throw new Error(`there is no directory ${directory}: name the state directory of the service`);
  // Before the lock and the installation's id, which are files of a state directory.
  if (ends.isToPostgres && !existsSync(ends.file))
    throw new Error(`there is no database ${ends.file}: name the file labwright.db of the service's state directory`);
  await using cleanup = new AsyncDisposableStack();
  const held = await holdStateDir(directory);
  cleanup.defer(() => held.release());
  const { source, target } = await opened(ends);
  cleanup.use(source);
  cleanup.use(target);
  return await copyStore(source, target);
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    args: process.argv.slice(2),
    allowPositionals: true,
    options: { "store-password-file": { type: "string" }, format: { type: "string" }, help: { type: "boolean", short: "h" } },
  });
  const [action, from, to, ...rest] = positionals;
  if (values.help === true || action === undefined) {
    console.log(help);
    return;
  }
  if (action !== "copy" || from === undefined || to === undefined || rest.length > 0) {
    throw new Error(
      "the command is: labwright store copy FROM TO, such as labwright store copy sqlite: postgres://labwright@db.example/labwright",
    );
  }
  const { format = "table" } = values;
  if (format !== "table" && format !== "json") throw new Error("--format takes table or json");
  const ends = endsOf(from, to, values["store-password-file"] ?? process.env["LABWRIGHT_STORE_PASSWORD_FILE"]);
  const sums = await copy(ends);
  if (format === "json") {
    console.log(JSON.stringify({ tables: sums }, null, 2));
    return;
  }
  for (const { table, rows, digest } of sums) console.log(`${table.padEnd(18)} ${String(rows).padStart(7)}  sha256:${digest.slice(0, 16)}`);
  const next = ends.isToPostgres ? `labwright serve --store ${JSON.stringify(ends.address.shown)}` : "labwright serve, without --store";
  console.log(`copied and compared. Start the service with: ${next}`);
}

try {
  await main();
} catch (error) {
  process.stderr.write(`labwright store: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
