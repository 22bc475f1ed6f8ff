import { chownSync, closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { AccountRow } from "../../../hosts/host-accounts.ts";
import { openDatabase } from "../open-database.ts";
import { migrate } from "../sqlite.ts";
import { accountText, readAccount, readLabRecord } from "../stored-json.ts";
import { type CopySource, type CopyTarget, refuseFilled } from "./ends.ts";
import { type CopiedRow, type CopiedTable, copiedTables, plansText, type Value } from "./tables.ts";

/**
 * Opens the embedded database as the source of a copy. The caller holds the lock of its state directory.
 * @param installation id of that state directory
 * @param accounts those of its users.json
 */
export function sqliteSource(file: string, installation: string, accounts: readonly AccountRow[]): CopySource {
  if (!existsSync(file)) throw new Error(`there is no database ${file}: name the file labwright.db of the service's state directory`);
  const whenNew = () => {
    throw new Error(`the database ${file} is empty: there is nothing to copy`);
  };
  const db = openDatabase(file, { whenNew });
  migrate(db, file);
  return {
    shown: `sqlite:${file}`,
    installations: [installation],
    rows: (table) => (table.name === "accounts" ? accountRows(accounts) : rowsOf(db, table)),
    [Symbol.asyncDispose]: async () => db.close(),
  };
}

/**
 * Makes a new database beside the file, which replaces it with `commit`. The caller holds the lock of its state directory. Throws if the file has data.
 * @param writeAccounts writes its users.json, or throws if that has other accounts
 */
export function sqliteTarget(file: string, writeAccounts: (accounts: readonly AccountRow[]) => Promise<void>): CopyTarget {
  const there = statSync(file, { throwIfNoEntry: false });
  if (there !== undefined) refuseData(file);
  refuseLog(file);
  const made = `${file}.copying`;
  // The file of a copy that was cut off.
  remove(made);
  const db = openMade(made);
  const accounts: AccountRow[] = [];
  let isOpen = true;
  const close = () => {
    if (isOpen) db.close();
    isOpen = false;
  };
  return {
    shown: `sqlite:${file}`,
    write: async (table, rows) => {
      if (table.name !== "accounts") await write(db, table, rows);
      else for await (const [, account] of rows) accounts.push(readAccount(String(account)));
    },
    rows: (table) => (table.name === "accounts" ? accountRows(accounts) : rowsOf(db, table)),
    commit: async () => {
      // First: without them, a service on the new database would make an admin of its own.
      if (accounts.length > 0) await writeAccounts(accounts);
      db.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
      close();
      keepOwner(made);
      synced(made);
      // A link never replaces a file that has appeared meanwhile.
      if (there === undefined) linkSync(made, file);
      else renameSync(made, file);
      synced(dirname(file));
    },
    [Symbol.asyncDispose]: async () => {
      close();
      remove(made);
    },
  };
}

function refuseData(file: string): void {
  const db = openDatabase(file);
  try {
    const tables = new Set(
      db
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
        .all()
        .map(({ name }) => name as string),
    );
    const found = copiedTables.filter(({ name }) => tables.has(name)).map(({ name }) => [name, countOf(db, name)] as const);
    refuseFilled(`sqlite:${file}`, Object.fromEntries(found), "move the file away, together with its -wal and -shm files");
  } finally {
    db.close();
  }
}

/** Throws if there is the log of another database, also of one that was moved away: SQLite would apply it to the new one. */
function refuseLog(file: string): void {
  if ((statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
  const where = existsSync(file)
    ? `start and stop the service once, or move ${basename(file)} and its -wal and -shm files away together`
    : `move ${basename(file)}-wal and ${basename(file)}-shm to the place of their ${basename(file)}, which needs them: they have its last changes`;
  throw new Error(`there is an unfinished log ${file}-wal: ${where}`);
}

/** Opens a new database with all tables, for the rows of a copy. Leaves no file if that fails. */
function openMade(made: string): DatabaseSync {
  let db: DatabaseSync | undefined;
  try {
    db = openDatabase(made);
    migrate(db, made);
    db.exec("BEGIN");
    return db;
  } catch (error) {
    db?.close();
    remove(made);
    throw new Error(`${made} cannot be written: ${(error as Error).message}`, { cause: error });
  }
}

function countOf(db: DatabaseSync, table: string): number {
  return (db.prepare(`SELECT count(*) AS count FROM ${table}`).get() as { count: number }).count;
}

function remove(file: string): void {
  for (const one of [file, `${file}-wal`, `${file}-shm`]) rmSync(one, { force: true });
}

/** Root copies for a service that may run as another user: the owner of the directory. */
function keepOwner(file: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(dirname(file));
  chownSync(file, uid, gid);
}

function synced(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

async function* accountRows(accounts: readonly AccountRow[]): AsyncIterable<CopiedRow> {
  for (const account of accounts.toSorted((a, b) => (a.name < b.name ? -1 : 1))) yield [account.name, accountText(account)];
}

const nameIn = (column: string) => (column === "username" ? "user" : column);

async function* rowsOf(db: DatabaseSync, table: CopiedTable): AsyncIterable<CopiedRow> {
  if (table.name === "labs") {
    yield* labRows(db);
    return;
  }
  // Text is compared by its bytes, as PostgreSQL does it with the collation "C".
  const order = table.key?.map(nameIn).join(", ") ?? "rowid";
  const columns = table.columns.map(nameIn);
  const select = db.prepare(`SELECT ${columns.join(", ")} FROM ${table.name} ORDER BY ${order}`);
  for (const row of select.iterate()) {
    yield columns.map((column) => (column === "revoked" ? row[column] === 1 : (row[column] as Value)));
  }
}

function* labRows(db: DatabaseSync): Iterable<CopiedRow> {
  const plans = db.prepare("SELECT direction, identity FROM plans WHERE path = ?");
  const select = db.prepare("SELECT path, record, contents FROM labs LEFT JOIN lab_contents USING (path) ORDER BY path");
  for (const row of select.iterate()) {
    const [path, record, contents] = [row["path"] as string, row["record"] as string, row["contents"] as string | null];
    const planned = plansText(Object.fromEntries(plans.all(path).map(({ direction, identity }) => [direction as string, identity])));
    // Also finds a damaged record, which is better known before the move than after it.
    const { yaml, files, applied, source, ...rest } = readLabRecord(path, record, contents);
    // Older releases have kept the contents in the record.
    if (contents === null) yield [path, JSON.stringify(rest), JSON.stringify({ yaml, files, applied, source }), planned];
    else yield [path, record, contents, planned];
  }
}

async function write(db: DatabaseSync, table: CopiedTable, rows: AsyncIterable<CopiedRow>): Promise<void> {
  if (table.name === "labs") return writeLabs(db, rows);
  const columns = table.columns.map(nameIn);
  const insert = db.prepare(`INSERT INTO ${table.name} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`);
  for await (const row of rows) insert.run(...row.map((value): SQLInputValue => (typeof value === "boolean" ? Number(value) : value)));
}

async function writeLabs(db: DatabaseSync, rows: AsyncIterable<CopiedRow>): Promise<void> {
  const [lab, contentsOf, plan] = [
    db.prepare("INSERT INTO labs (path, record) VALUES (?, ?)"),
    db.prepare("INSERT INTO lab_contents (path, contents) VALUES (?, ?)"),
    db.prepare("INSERT INTO plans (path, direction, identity) VALUES (?, ?, ?)"),
  ];
  for await (const row of rows) {
    const [path = "", record = "", contents = "", plans = "{}"] = row as readonly string[];
    lab.run(path, record);
    contentsOf.run(path, contents);
    for (const [direction, identity] of Object.entries(JSON.parse(plans) as Record<string, string>)) plan.run(path, direction, identity);
  }
}
