import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Failure } from "../../../contract/errors.ts";
import { openDatabase } from "../open-database.ts";
import { sqliteStore } from "../sqlite.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "labwright-database-"));
  file = join(folder, "labwright.db");
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A database with some pages of jobs and sessions; closed, so that all of it is in the one file. */
function filled(characters = 3000): void {
  const store = sqliteStore(file);
  for (let i = 0; i < 200; i++) {
    const request = { yaml: "x".repeat(characters) };
    store.jobs.insert({
      id: `j${i}`,
      lab: "/l",
      operation: "deployProject",
      user: "admin",
      request,
      status: "running",
      startedAt: i,
      steps: [],
      done: 0,
    });
    store.sessions.insert({ hash: `${i}`.padStart(64, "0"), user: "admin", role: "admin", createdAt: i, usedAt: i, revoked: false });
  }
  store.close();
}

/** Overwrites bytes of the file. */
async function overwrite(at: number, length: number): Promise<void> {
  const handle = await open(file, "r+");
  await handle.write(Buffer.alloc(length, 0x5a), 0, length, at);
  await handle.close();
}

/** The message of a refusal, which names the path. */
function refusal(): string {
  try {
    openDatabase(file).close();
  } catch (error) {
    expect(error).toBeInstanceOf(Error);
    const { message } = error as Error;
    expect(message).toContain(`the database ${file}`);
    return message;
  }
  throw new Error("the database was opened");
}

describe("a database that cannot be used is refused with its path, the fault and what to do", () => {
  const restore = /Restore it from a backup\. Without one, move it away .* labwright serve --adopt/;

  test("truncated", () => {
    filled();
    const { size } = statSync(file);
    truncateSync(file, size / 2);
    expect(refusal()).toContain(`is truncated: ${size / 2} of ${size} bytes are left`);
    expect(refusal()).toMatch(restore);
  });

  test("overwritten at its beginning", async () => {
    filled();
    await overwrite(0, 4096);
    expect(refusal()).toMatch(/is not a SQLite database: its beginning is overwritten/);
    expect(refusal()).toMatch(restore);
  });

  test("with a page of a table or an index that makes no sense", async () => {
    for (const page of [1, 2, 3]) {
      rmSync(file, { force: true });
      filled();
      await overwrite(page * 4096, 4096);
      expect(refusal(), `page ${page}`).toMatch(/is damaged: /);
      expect(refusal()).toMatch(restore);
    }
  });

  test("a directory", () => {
    mkdirSync(file);
    expect(refusal()).toMatch(/is a directory\. Move it away; then: Restore it/);
  });

  test.skipIf(process.getuid?.() === 0)("not readable", () => {
    filled();
    chmodSync(file, 0);
    expect(refusal()).toMatch(/may not read and write .*chown, chmod/);
  });

  test("of a newer release", () => {
    const db = new DatabaseSync(file);
    db.exec("CREATE TABLE later (id TEXT); PRAGMA user_version = 99");
    db.close();
    expect(() => sqliteStore(file)).toThrow(
      new RegExp(`the database ${file} has version 99, written by a newer release.*restore a backup`),
    );
  });
});

test("a database that is missing, empty or without tables is created, and a refused database is not changed", () => {
  const states: string[] = [];
  const whenNew = (state: string) => {
    states.push(state);
    throw new Error("refused");
  };
  expect(() => openDatabase(file, { whenNew })).toThrow("refused");
  expect(statSync(file, { throwIfNoEntry: false })).toBeUndefined();
  writeFileSync(file, "");
  expect(() => openDatabase(file, { whenNew })).toThrow("refused");
  expect(statSync(file).size).toBe(0);
  const db = new DatabaseSync(file);
  db.exec("PRAGMA journal_mode = WAL");
  db.close();
  expect(statSync(file).size).toBeGreaterThan(0);
  expect(() => openDatabase(file, { whenNew })).toThrow("refused");
  expect(states).toEqual(["missing", "empty", "empty"]);
  rmSync(file);
  filled();
  openDatabase(file, { whenNew }).close();
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("a page that breaks while the store is open is reported as damage, with what to do, and the path in the cause alone", async () => {
  // More than SQLite keeps in memory.
  filled(60_000);
  const store = sqliteStore(file);
  try {
    await overwrite(4096, statSync(file).size - 4096);
    let failure: unknown;
    try {
      await store.jobs.unfinished();
    } catch (error) {
      failure = error;
    }
    expect(failure).toBeInstanceOf(Failure);
    const { message, cause } = failure as Failure;
    expect(message).toMatch(/^the service's database failed: it is damaged: stop the service and restore a backup/);
    expect(String(cause)).toContain(file);
  } finally {
    store.close();
  }
});
