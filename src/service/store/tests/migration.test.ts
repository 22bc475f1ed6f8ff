import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, test } from "vitest";
import { createBench, failureOf, pair } from "../../service.fixture.ts";
import { sqliteStore } from "../sqlite.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** The database as version 4 of it was, before jobs had the identity of their lab. */
const version4 = `
  CREATE TABLE sessions (hash TEXT PRIMARY KEY, user TEXT NOT NULL, role TEXT NOT NULL,
    created_at INTEGER NOT NULL, used_at INTEGER NOT NULL, revoked INTEGER NOT NULL DEFAULT 0, credential TEXT) STRICT;
  CREATE TABLE labs (path TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT;
  CREATE TABLE plans (path TEXT NOT NULL, direction TEXT NOT NULL, identity TEXT NOT NULL, PRIMARY KEY (path, direction)) STRICT;
  CREATE TABLE jobs (id TEXT PRIMARY KEY, lab TEXT NOT NULL, operation TEXT NOT NULL, user TEXT NOT NULL, request TEXT NOT NULL,
    status TEXT NOT NULL, outcome TEXT, started_at INTEGER NOT NULL, finished_at INTEGER,
    steps TEXT NOT NULL, done INTEGER NOT NULL, result TEXT, error TEXT) STRICT;
  CREATE TABLE browser_sessions (
    hash TEXT PRIMARY KEY, session TEXT NOT NULL REFERENCES sessions (hash) ON DELETE CASCADE, created_at INTEGER NOT NULL) STRICT;
  CREATE TABLE job_keys (user TEXT NOT NULL, key TEXT NOT NULL, request TEXT NOT NULL, job TEXT NOT NULL, created_at INTEGER NOT NULL,
    PRIMARY KEY (user, key)) STRICT;
  PRAGMA user_version = 4`;

const secret = "old-env-secret";

function oldDatabase(): string {
  const folder = mkdtempSync(join(tmpdir(), "service-store-"));
  closers.push(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "labwright.db");
  const db = new DatabaseSync(file);
  db.exec(version4);
  const record = {
    path: "/pair",
    mode: "create",
    owner: "bob",
    yaml: pair,
    files: {},
    serial: 1,
    ids: { nodes: {}, networks: {}, links: {} },
  };
  db.prepare("INSERT INTO labs VALUES (?, ?)").run("/pair", JSON.stringify({ ...record, power: {}, updatedAt: 1 }));
  const job = db.prepare("INSERT INTO jobs VALUES (?, '/pair', ?, ?, 'null', 'done', 'finished', ?, ?, '[]', 0, ?, NULL)");
  const now = Date.UTC(2025, 11, 31);
  job.run("a1", "deployProject", "ann", now, now + 1, JSON.stringify({ lab: "/pair" }));
  const pulled = { lab: "/pair", direction: "from_host", yaml: `name: pair # ${secret}\n`, files: { a: secret } };
  job.run("a2", "reconcileProject", "ann", now + 2, now + 3, JSON.stringify(pulled));
  job.run("b1", "deployProject", "bob", now + 4, now + 5, JSON.stringify({ lab: "/pair" }));
  job.run("a3", "destroyProject", "ann", now + 6, now + 7, JSON.stringify({ lab: "/pair" }));
  db.close();
  return file;
}

test("jobs of a database without lab identities are visible to their users and to admins", async () => {
  const made = createBench({ store: sqliteStore(oldDatabase()) });
  closers.push(async () => {
    await made.service.close();
    await made.host.close();
  });
  const [ann, bob, admin] = [await made.login(), await made.login("bob"), await made.login("admin")];
  const ids = async (client: typeof ann) => (await client.get("listJobs")).jobs.map(({ job }) => job);
  expect([await ids(ann), await ids(bob), await ids(admin)]).toEqual([["a3", "a2", "a1"], ["b1"], ["a3", "b1", "a2", "a1"]]);
  expect((await failureOf(async () => bob.get("getJob", { id: "a2" }))).code).toBe("job_not_found");
  const old = await ann.get("getJob", { id: "a2" });
  expect(old).toMatchObject({ left_out: ["yaml", "files"], result: { lab: "/pair" } });
  expect(JSON.stringify(old)).not.toContain(secret);
  // Jobs of the lab's owner count as jobs of the lab.
  expect((await bob.call("getProjectStatus", { lab: "/pair" })).last_job).toMatchObject({ job: "b1" });
});

test("the record of such a database gets an identity, which stays, and its next job has it", async () => {
  const file = oldDatabase();
  const store = sqliteStore(file);
  const { identity } = store.labs.get("/pair")!;
  expect(identity).toMatch(/^[0-9a-f]{24}$/);
  store.close();
  const made = createBench({ store: sqliteStore(file) });
  closers.push(async () => {
    await made.service.close();
    await made.host.close();
  });
  const bob = await made.login("bob");
  await bob.call("reconcileProject", { yaml: pair });
  expect(made.store.labs.get("/pair")?.identity).toBe(identity);
  // The text of before is the first state of the lab's history.
  const { entries } = await bob.call("listHistory", { lab: "/pair" });
  expect(entries.map(({ serial, operation, user }) => [serial, operation, user])).toEqual([
    [2, "reconcileProject", "bob"],
    [1, undefined, undefined],
  ]);
  expect((await bob.call("getHistoryText", { lab: "/pair", serial: 1, as_written: true })).yaml).toBe(pair);
  expect(await made.store.jobs.lastOf("/pair")).toMatchObject({ identity, owner: "bob", operation: "reconcileProject" });
});
