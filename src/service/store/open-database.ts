import { closeSync, openSync, readSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { isFull } from "./database-room.ts";

export interface DatabaseOptions {
  /** Called before a database without tables is created or used. Throws to refuse it. */
  readonly whenNew?: (state: "missing" | "empty") => void;
}

/**
 * A file up to this size, bytes, is checked completely at the start, which takes about 0.2 s. Of a larger file, all tables except the journal of jobs
 * are checked.
 */
const maxWholeCheck = 256 * 2 ** 20;

const restore =
  "Restore it from a backup. Without one, move it away together with its -wal and -shm files and start once with labwright serve --adopt: " +
  "labs run on and keep their disks; sessions, jobs and the records of labs are lost";

/**
 * Opens a SQLite file (mode 0600, created if missing) and checks it. Throws an Error with the path, the problem (a directory, no access, not a
 * database, truncated, damaged) and the remedy.
 */
export function openDatabase(file: string, options: DatabaseOptions = {}): DatabaseSync {
  if (file === ":memory:") return prepared(new DatabaseSync(file), file);
  refuseUnusable(file, options);
  try {
    return opened(file, options);
  } catch (error) {
    if (!isFull(error)) throw explained(file, error);
  }
  try {
    // Exclusive mode needs no shared-memory file, which would need new blocks at each start.
    return opened(file, options, "PRAGMA locking_mode = EXCLUSIVE");
  } catch (error) {
    throw explained(file, error);
  }
}

function opened(file: string, options: DatabaseOptions, first = ""): DatabaseSync {
  const db = new DatabaseSync(file);
  try {
    db.exec(first);
    if (isWithoutTables(db)) options.whenNew?.("empty");
    prepared(db, file);
    const finding = firstFinding(db, statSync(file).size);
    if (finding !== undefined) throw damaged(file, finding);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function prepared(db: DatabaseSync, file: string): DatabaseSync {
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON");
  const { journal_mode: mode } = db.prepare("PRAGMA journal_mode").get() as { journal_mode: string };
  if (file !== ":memory:" && mode !== "wal")
    throw new Error(
      `the database ${file} cannot have a write-ahead log (its journal is ${mode}): use a state directory on a local file system`,
    );
  return db;
}

/** Creates the file if it is missing, because SQLite itself would make it readable for all users. */
function refuseUnusable(file: string, { whenNew }: DatabaseOptions): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) {
    throw new Error(`the database ${file} is a directory. Move it away; then: ${restore}`);
  }
  if (found === undefined) whenNew?.("missing");
  else if (found.size === 0) whenNew?.("empty");
  try {
    closeSync(openSync(file, "a+", 0o600));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EACCES" && code !== "EPERM") throw error;
    throw new Error(
      `user ${process.getuid?.() ?? 0} may not read and write the database ${file} (${code}): let that user do so (chown, chmod), or start ` +
        "the service as the file's owner",
      { cause: error },
    );
  }
}

function isWithoutTables(db: DatabaseSync): boolean {
  return (db.prepare("SELECT count(*) AS count FROM sqlite_schema").get() as { count: number }).count === 0;
}

/** Returns the first fault that SQLite finds, `undefined` if there is none. */
function firstFinding(db: DatabaseSync, bytes: number): string | undefined {
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'jobs'").all();
  const checks = bytes <= maxWholeCheck ? ["(1)"] : tables.map(({ name }) => `('${String(name)}')`);
  for (const which of checks) {
    const { quick_check: result } = db.prepare(`PRAGMA quick_check${which}`).get() as { quick_check: string };
    if (result !== "ok") return result.replace(/^\*\*\* in database main \*\*\*\s*/, "");
  }
  return undefined;
}

/** SQLITE_CORRUPT and SQLITE_NOTADB. */
const [corrupt, notDatabase] = [11, 26];

function explained(file: string, error: unknown): unknown {
  const { errcode, message } = error as { readonly errcode?: unknown; readonly message: string };
  if (typeof errcode !== "number") return error;
  if ((errcode & 0xff) === notDatabase)
    return new Error(`the database ${file} is not a SQLite database: its beginning is overwritten. ${restore}`, { cause: error });
  if ((errcode & 0xff) === corrupt) return damaged(file, message, error);
  return new Error(`the database ${file} cannot be opened: ${message}`, { cause: error });
}

function damaged(file: string, finding: string, cause?: unknown): Error {
  const { promised, there } = sizes(file);
  const what = there < promised ? `is truncated: ${there} of ${promised} bytes are left` : `is damaged: ${finding}`;
  return new Error(`the database ${file} ${what}. ${restore}`, { cause });
}

/** Returns the size in the file's header, and the file's real size. */
function sizes(file: string): { readonly promised: number; readonly there: number } {
  const header = Buffer.alloc(100);
  const descriptor = openSync(file, "r");
  try {
    readSync(descriptor, header, 0, header.length, 0);
  } finally {
    closeSync(descriptor);
  }
  // 1 means 65,536, which does not fit into two bytes.
  const pageSize = header.readUInt16BE(16);
  return { promised: (pageSize === 1 ? 65_536 : pageSize) * header.readUInt32BE(28), there: statSync(file).size };
}
