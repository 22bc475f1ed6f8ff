import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AccountRow } from "../../../hosts/host-accounts.ts";
import type { PostgresAddress } from "../address/address.ts";
import { postgresStore } from "../postgres/postgres-store.ts";
import { sqliteStore } from "../sqlite.ts";
import type { LabRecord, Store } from "../store.ts";
import { cluster, postgresPrograms } from "../testing/cluster.fixture.ts";
import { type CopiedSum, copyStore } from "./copy-store.ts";
import { postgresSource, postgresTarget } from "./postgres-ends.ts";
import { sqliteSource, sqliteTarget } from "./sqlite-ends.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "labwright-copy-"));
  file = join(folder, "labwright.db");
});
afterEach(() => rmSync(folder, { recursive: true }));

const record: LabRecord = {
  path: "/a",
  identity: "ia",
  mode: "create",
  owner: "ann",
  grants: { bob: "edit" },
  yaml: "name: a\u0000b ü 🌍\n",
  files: { "r1.cfg": "hostname r1\n" },
  serial: 2,
  ids: { nodes: { r1: "1" }, networks: {}, links: {} },
  plans: { to_host: "p1", from_host: "p2" },
  power: { r1: true },
  updatedAt: 1_700_000_000_000,
};
const step = { id: "create:node:r1", op: "create", kind: "node", key: "r1", do: "create-node" };
const job = { lab: "/a", identity: "ia", owner: "ann", operation: "deployProject", user: "ann", status: "running" as const, done: 0 };

/** A service's data: every table, values that are absent, and rows of the same time whose order counts. */
async function fill(): Promise<void> {
  const store = sqliteStore(file);
  const { sessions, labs, jobs, history, quotas, reservations } = store;
  for (const hash of ["s2", "s1"]) {
    await sessions.insert({
      hash,
      user: "ann",
      role: "user",
      createdAt: 5,
      usedAt: 6,
      revoked: false,
      ...(hash === "s1" && { credential: "c" }),
    });
  }
  await sessions.revoke("s2");
  for (const hash of ["b2", "b1"]) await sessions.insertBrowser({ hash, session: "s1", createdAt: 7 }, 2);
  await labs.put(record);
  await labs.put({ ...record, path: "/Ä b", identity: "ib", plans: {} });
  for (const serial of [1, 2]) {
    const row = {
      identity: "ia",
      serial,
      at: serial,
      operation: "deployProject",
      nodes: 1,
      links: 0,
      digest: `d${serial}`,
      job: "j1",
      user: "ann",
    };
    await history.add({ ...row, ...(serial === 1 && { job: "j0" }) }, { yaml: "name: a\n", files: {} });
  }
  for (const id of ["j2", "j1", "j3"]) {
    await jobs.insert({ ...job, id, startedAt: 9, steps: [step], request: { yaml: "secret \u0000" } });
    await jobs.insertKey({ user: "ann", key: `k ${id}`, request: "r", job: id, createdAt: 1 });
  }
  const end = { status: "done" as const, outcome: "finished" as const, finishedAt: 10, result: { ok: "ü" } };
  for (const id of ["j2", "j1"]) await jobs.finish(id, { ...end, answer: { result: { id } } });
  await reservations.add(() => ({ id: "r1", user: "ann", from: 1, until: 2 ** 40, memory: 64, nodes: 2 }));
  await quotas.put({ kind: "group", name: "students", labs: 3, members: ["ann", "b ö"] });
  await store.close();
  // A record of a release that kept the contents in it.
  const db = new DatabaseSync(file);
  const old = { ...record, path: "/old", identity: "io", plans: undefined };
  db.prepare("INSERT INTO labs VALUES ('/old', ?)").run(JSON.stringify(old));
  db.close();
}

/** Reads everything as a service does, in its order. */
async function readAll({ sessions, labs, jobs, history, quotas, reservations }: Store) {
  return {
    quotas: quotas.list(),
    reservations: reservations.list(),
    sessions: ["s1", "s2", "b1", "b2"].map((hash) => sessions.find(hash) ?? sessions.findByBrowser(hash)),
    labs: labs.list(),
    jobs: await jobs.newest(10),
    full: await Promise.all(["j1", "j2", "j3"].map((id) => jobs.get(id))),
    last: [jobs.lastEnd("/a", record), await jobs.lastOf("/a")],
    unfinished: await jobs.unfinished(),
    keys: await Promise.all(["k j1", "k j3"].map((key) => jobs.findKey("ann", key))),
    history: await history.list("ia"),
    text: await history.text("ia", 2),
  };
}

async function readSqlite(from: string) {
  const store = sqliteStore(from);
  const all = await readAll(store);
  await store.close();
  return all;
}

const accounts: readonly AccountRow[] = [
  { name: "root", role: "admin", hash: "scrypt$1$1$1$a$b" },
  { name: "ann", role: "user", hash: "oidc$x", oidc: { issuer: "https://id.example", subject: "7" } },
];
let returnedAccounts: readonly AccountRow[] = [];

async function toPostgres(address: PostgresAddress): Promise<readonly CopiedSum[]> {
  await using source = sqliteSource(file, "one", accounts);
  await using target = await postgresTarget(address);
  return await copyStore(source, target);
}

async function back(address: PostgresAddress, to: string): Promise<readonly CopiedSum[]> {
  await using source = await postgresSource(address);
  await using target = sqliteTarget(to, async (found) => {
    returnedAccounts = found;
  });
  return await copyStore(source, target);
}

describe.skipIf(postgresPrograms === undefined)("a copy of a service's data", () => {
  test("to PostgreSQL and back has every row in its order, and the labs belong to the same state directory", async () => {
    await fill();
    const before = await readSqlite(file);
    expect(before.jobs.map(({ id }) => id)).toEqual(["j3", "j1", "j2"]);
    const address = await (await cluster()).database();
    const sums = await toPostgres(address);
    expect(sums.map(({ table, rows }) => `${table} ${rows}`)).toEqual([
      ...["sessions 2", "browser_sessions 2", "labs 3", "history 2", "jobs 3", "job_keys 3", "quotas 1", "reservations 1", "accounts 2"],
    ]);
    const returned = join(folder, "returned.db");
    expect(await back(address, returned)).toEqual(sums);
    expect(await readSqlite(returned)).toEqual(before);
    expect(returnedAccounts).toEqual(accounts.toReversed());
    expect(statSync(returned).mode & 0o777).toBe(0o600);
    // Read last, because this service takes the labs.
    const open = (installation: string) => postgresStore(address, { installation, log: () => {} });
    const other = await open("two");
    expect(await other.jobs.unfinished()).toEqual([]);
    await expect(back(address, join(folder, "third.db"))).rejects.toThrow(
      /a service uses postgres:.*stop it first.*try again in \d+ seconds/,
    );
    await other.close();
    const store = await open("one");
    expect(await readAll(store)).toEqual(before);
    await store.labs.put({ ...record, serial: 3 });
    await store.close();
    expect(readdirSync(folder).sort()).toEqual(["labwright.db", "returned.db"]);
  });

  test("refuses a target that has data, and leaves it as it is", async () => {
    await fill();
    const address = await (await cluster()).database();
    await toPostgres(address);
    await expect(toPostgres(address)).rejects.toThrow(/has data already \(sessions: 2, browser sessions: 2, labs: 3.*createdb/);
    const before = await readSqlite(file);
    await expect(back(address, file)).rejects.toThrow(/has data already.*move the file away/);
    expect(await readSqlite(file)).toEqual(before);
    expect(readdirSync(folder)).toEqual(["labwright.db"]);
  });

  test("that fails, or that the target does not return as it was written, leaves nothing", async () => {
    await fill();
    const { database, query } = await cluster();
    const address = await database();
    const name = String(address.config.database);
    const rows = () =>
      query(name, "SELECT (SELECT count(*) FROM sessions) + (SELECT count(*) FROM labs) + (SELECT count(*) FROM leases) AS rows");
    // Creates the tables.
    await (await postgresTarget(address))[Symbol.asyncDispose]();
    await query(
      name,
      `CREATE FUNCTION other() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.operation := ''x''; RETURN NEW; END';
       CREATE TRIGGER other BEFORE INSERT ON jobs FOR EACH ROW WHEN (NEW.id = 'j1') EXECUTE FUNCTION other()`,
    );
    await expect(toPostgres(address)).rejects.toThrow(/returns other jobs than sqlite:/);
    expect(await rows()).toEqual([{ rows: "0" }]);
    await query(name, "ALTER TABLE jobs DISABLE TRIGGER other; ALTER TABLE job_keys ADD CHECK (key <> 'k j3')");
    await expect(toPostgres(address)).rejects.toThrow(/job_keys_key_check/);
    expect(await rows()).toEqual([{ rows: "0" }]);
    await query(name, "ALTER TABLE job_keys DROP CONSTRAINT job_keys_key_check");
    await toPostgres(address);
    await query(name, "UPDATE labs SET record = '{' WHERE path = '/a'");
    // A damaged record in the source is found before it is moved.
    await expect(back(address, join(folder, "returned.db"))).rejects.toThrow(/the record of \/a .* is damaged/);
    expect(readdirSync(folder)).toEqual(["labwright.db"]);
  });
});

test("a target beside the log of a database that was moved away is refused: SQLite would apply the log to it", () => {
  writeFileSync(`${file}-wal`, "the last changes");
  expect(() => sqliteTarget(file, async () => {})).toThrow(
    /unfinished log .*labwright\.db-wal: move labwright\.db-wal and labwright\.db-shm to the place of their labwright\.db/,
  );
  expect(readdirSync(folder)).toEqual(["labwright.db-wal"]);
});

test.skipIf(process.getuid?.() !== 0)("a target on a full disk leaves no file, and the error names it", async () => {
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "none", folder]);
  try {
    expect(() => sqliteTarget(file, async () => {})).toThrow(/labwright\.db\.copying cannot be written: .*full/);
    expect(readdirSync(folder)).toEqual([]);
  } finally {
    execFileSync("umount", [folder]);
  }
});
