import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { postgresStore } from "../postgres/postgres-store.ts";
import { sqliteStore } from "../sqlite.ts";
import type { JobRow, LabRecord, SessionRow, Store } from "../store.ts";
import { cluster, postgresPrograms } from "./cluster.fixture.ts";

interface Opened {
  readonly store: Store;
  /** Closes the store and opens its data again. */
  readonly again: () => Promise<Store>;
}

const open: Store[] = [];
afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
});

async function sqlite(): Promise<Opened> {
  const directory = mkdtempSync(join(tmpdir(), "labwright-store-"));
  directories.push(directory);
  const file = join(directory, "labwright.db");
  return reopening(async () => sqliteStore(file));
}

const directories: string[] = [];
afterAll(async () => {
  for (const directory of directories) rmSync(directory, { recursive: true });
});

async function postgres(): Promise<Opened> {
  const address = await (await cluster()).database();
  return reopening(() => postgresStore(address, { installation: "one", log: () => {} }));
}

async function reopening(make: () => Promise<Store>): Promise<Opened> {
  const store = await make();
  open.push(store);
  return {
    store,
    again: async () => {
      await open.splice(open.indexOf(store), 1)[0]?.close();
      const next = await make();
      open.push(next);
      return next;
    },
  };
}

const session: SessionRow = { hash: "s1", user: "ann", role: "user", credential: "c1", createdAt: 1_000, usedAt: 1_500, revoked: false };

function record(path: string, more: Partial<LabRecord> = {}): LabRecord {
  return {
    path,
    identity: `identity of ${path}`,
    mode: "create",
    owner: "ann",
    yaml: "name: a\u0000b ü 🌍\n",
    files: { "r1.cfg": "hostname r1\n" },
    serial: 1,
    ids: { nodes: { r1: "1" }, networks: {}, links: {} },
    plans: { to_host: "p1" },
    power: { r1: true },
    updatedAt: 1_700_000_000_000,
    ...more,
  };
}

function job(id: string, more: Partial<JobRow> = {}): JobRow {
  return {
    id,
    lab: "/a",
    identity: "identity of /a",
    owner: "ann",
    operation: "deployProject",
    user: "ann",
    request: { yaml: "secret" },
    status: "running",
    startedAt: 1_000,
    steps: [],
    done: 0,
    ...more,
  };
}

const step = { id: "create:node:r1", op: "create", kind: "node", key: "r1", do: "create-node" };

describe.each([
  { kind: "SQLite", make: sqlite, isThere: true },
  { kind: "PostgreSQL", make: postgres, isThere: postgresPrograms !== undefined },
])("a store in $kind", ({ make, isThere }) => {
  test.skipIf(!isThere)("keeps sessions and their browsers until they are revoked or purged", async () => {
    const opened = await make();
    const { sessions } = opened.store;
    await sessions.insert(session);
    await sessions.insert({ ...session, hash: "s2", createdAt: 5_000, usedAt: 5_000 });
    for (const [index, hash] of ["b1", "b2", "b3"].entries()) await sessions.insertBrowser({ hash, session: "s1", createdAt: index }, 2);
    expect(sessions.findByBrowser("b1")).toBeUndefined();
    await sessions.touch("s1", 2_000);
    await sessions.setRole("s1", "admin");
    const next = (await opened.again()).sessions;
    expect(next.find("s1")).toEqual({ ...session, usedAt: 2_000, role: "admin" });
    expect(next.findByBrowser("b3")?.hash).toBe("s1");
    expect(next.count(0, 0)).toBe(2);
    expect(next.count(1_999, 0)).toBe(2);
    expect(next.count(2_000, 0)).toBe(1);
    await next.revoke("s1");
    expect(next.find("s1")?.revoked).toBe(true);
    expect(next.findByBrowser("b3")).toBeUndefined();
    await next.purge(4_000);
    expect(next.find("s1")).toBeUndefined();
    expect(next.find("s2")?.user).toBe("ann");
  });

  test.skipIf(!isThere)("keeps records of labs with every field, and lists them by path", async () => {
    const opened = await make();
    const { labs } = opened.store;
    const full = record("/b", {
      grants: { bob: "edit" },
      owedStarts: ["r1"],
      folders: ["/x"],
      resume: "always",
      labId: "l1",
      source: { from: "x" },
      origin: "git",
    });
    await labs.put(full);
    await labs.put(record("/a"));
    await labs.putPlan("/a", "from_host", "p2");
    await labs.put({ ...full, serial: 2 });
    await labs.put(record("/c"));
    await labs.delete("/c");
    const next = (await opened.again()).labs;
    expect(next.list()).toEqual([record("/a", { plans: { to_host: "p1", from_host: "p2" } }), { ...full, serial: 2 }]);
    expect(next.get("/c")).toBeUndefined();
    await next.delete("/a");
    expect(next.get("/a")).toBeUndefined();
  });

  test.skipIf(!isThere)("shows a written record at once, and several writes at once end in their order", async () => {
    const opened = await make();
    const { labs } = opened.store;
    const writes = [1, 2, 3].map((serial) => labs.put(record("/a", { serial, yaml: `serial: ${serial}\n` })));
    expect(labs.get("/a")?.serial).toBe(3);
    writes.push(labs.putPlan("/a", "to_host", "newest"));
    await Promise.all(writes);
    const stored = (await opened.again()).labs.get("/a");
    expect(stored).toMatchObject({ serial: 3, yaml: "serial: 3\n", plans: { to_host: "newest" } });
  });

  test.skipIf(!isThere)(
    "keeps the journal: an unfinished job with its request and progress, an ended one without its request",
    async () => {
      const opened = await make();
      const { jobs } = opened.store;
      await jobs.insert(job("j1"));
      await jobs.begin("j1", [step, step]);
      await jobs.progress("j1", 1);
      await jobs.insert(job("j2", { lab: "/b", startedAt: 2_000 }));
      await jobs.finish("j2", { status: "failed", outcome: "failed", finishedAt: 3_000, error: { code: "host_error", error: "x" } });
      const next = (await opened.again()).jobs;
      expect(await next.unfinished()).toEqual([job("j1", { steps: [step, step], done: 1 })]);
      expect(await next.get("j2")).toMatchObject({ request: null, status: "failed", error: { code: "host_error", error: "x" } });
      expect((await next.newest(10)).map(({ id, request }) => [id, request])).toEqual([
        ["j2", null],
        ["j1", null],
      ]);
      expect(next.lastEnd("/b")).toEqual({ id: "j2", operation: "deployProject", outcome: "failed", finishedAt: 3_000, failedEarly: true });
      await next.finish("j1", { status: "done", outcome: "finished", finishedAt: 4_000, result: { nodes: 2 } });
      expect(await next.unfinished()).toEqual([]);
      expect(await next.get("j1")).toMatchObject({ status: "done", result: { nodes: 2 }, done: 1 });
    },
  );

  test.skipIf(!isThere)("finds the last job of a lab and not of an earlier lab at its path, also by user in old rows", async () => {
    const opened = await make();
    const { jobs } = opened.store;
    const end = { status: "done", outcome: "finished" } as const;
    const { identity: _none, ...old } = job("old", { lab: "/a", user: "ann" });
    await jobs.insert(old);
    await jobs.finish("old", { ...end, finishedAt: 1_000 });
    await jobs.insert(job("first"));
    await jobs.finish("first", { ...end, finishedAt: 2_000 });
    await jobs.insert(job("second", { identity: "another lab", owner: "bob", user: "bob" }));
    await jobs.finish("second", { ...end, finishedAt: 3_000 });
    const refuseWrong = async ({ lastEnd, lastOf }: Store["jobs"]) => {
      const last = async (record?: { identity: string; owner: string }) => [lastEnd("/a", record)?.id, (await lastOf("/a", record))?.id];
      expect(await last()).toEqual(["second", "second"]);
      expect(await last({ identity: "identity of /a", owner: "ann" })).toEqual(["first", "first"]);
      expect(await last({ identity: "new", owner: "ann" })).toEqual(["old", "old"]);
      expect(await last({ identity: "new", owner: "eve" })).toEqual([undefined, undefined]);
    };
    await refuseWrong(jobs);
    await refuseWrong((await opened.again()).jobs);
  });

  test.skipIf(!isThere)("does not find a create that was refused because the lab exists", async () => {
    const opened = await make();
    const { jobs } = opened.store;
    const failed = { status: "failed", outcome: "failed" } as const;
    await jobs.insert(job("applied"));
    await jobs.finish("applied", { ...failed, finishedAt: 1_000, error: { code: "host_error", error: "x" } });
    await jobs.insert(job("refused"));
    await jobs.finish("refused", { ...failed, finishedAt: 2_000, error: { code: "lab_exists", error: "/a exists" } });
    const lab = { identity: "identity of /a", owner: "ann" };
    const last = async ({ lastEnd, lastOf }: Store["jobs"]) => [lastEnd("/a", lab)?.id, (await lastOf("/a", lab))?.id];
    expect(await last(jobs)).toEqual(["applied", "applied"]);
    expect(await last((await opened.again()).jobs)).toEqual(["applied", "applied"]);
  });

  test.skipIf(!isThere)(
    "keeps the history of a lab: repeated states replace others, an ended job adds its steps, changes without a difference leave none",
    async () => {
      const { store, again } = await make();
      const state = { identity: "identity of /a", at: 1, nodes: 1, links: 0 };
      await store.labs.put(record("/a"));
      for (const serial of [1, 2, 3])
        await store.history.add({ ...state, serial, digest: `d${serial}` }, { yaml: `serial: ${serial}`, files: {} });
      await store.history.add({ ...state, serial: 2, digest: "d2", job: "j1", user: "ann" }, { yaml: "second", files: {} });
      await store.jobs.insert(job("j1"));
      await store.jobs.begin("j1", [step]);
      await store.jobs.finish("j1", { status: "done", outcome: "finished", finishedAt: 2_000 });
      await store.history.add({ ...state, serial: 3, digest: "d2", job: "j2" }, { yaml: "same", files: {} });
      await store.jobs.insert(job("j2"));
      await store.jobs.finish("j2", { status: "done", outcome: "finished", finishedAt: 3_000 });
      const { labs, history } = await again();
      expect(await history.list("identity of /a")).toMatchObject([
        { serial: 2, user: "ann", job: "j1", outcome: "finished", steps: [step], stepCount: 1, hasText: true },
        { serial: 1, hasText: true },
      ]);
      expect(await history.text("identity of /a", 2)).toEqual({ yaml: "second", files: {} });
      await history.forgetAfter("identity of /a", 1);
      expect(await history.list("identity of /a")).toHaveLength(1);
      await labs.delete("/a");
      expect(await history.list("identity of /a")).toEqual([]);
    },
  );

  test.skipIf(!isThere)("keeps an Idempotency-Key with the complete answer of its job until it is purged", async () => {
    const opened = await make();
    const { jobs } = opened.store;
    await jobs.insert(job("j1"));
    await jobs.insertKey({ user: "ann", key: "k", request: "h", job: "j1", createdAt: 1_000 });
    expect(await jobs.findKey("ann", "k")).toEqual({ user: "ann", key: "k", request: "h", job: "j1", createdAt: 1_000 });
    await jobs.finish("j1", { status: "done", outcome: "finished", finishedAt: 2_000, result: {}, answer: { result: { yaml: "a" } } });
    const next = (await opened.again()).jobs;
    expect((await next.findKey("ann", "k"))?.answer).toEqual({ result: { yaml: "a" } });
    expect(await next.findKey("bob", "k")).toBeUndefined();
    await next.purgeKeys(1_000_000);
    expect(await next.findKey("ann", "k")).toBeUndefined();
    await next.purge(1_000_000);
    expect(await next.get("j1")).toBeUndefined();
    expect(next.lastEnd("/a")).toBeUndefined();
  });
});
