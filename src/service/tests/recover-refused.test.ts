import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { Failure } from "../../contract/errors.ts";
import { memoryHost } from "../../hosts/memory/memory-host.ts";
import { pair, until, users } from "../service.fixture.ts";
import { sqliteStore } from "../store/sqlite.ts";

import { bench, endBenches, folder, powers } from "./recover.fixture.ts";

endBenches();

test("a change without a started step is rolled back, and its error states that nothing was changed", async () => {
  const made = bench();
  const now = made.time.now;
  made.store.jobs.insert({
    id: "j1",
    lab: "/pair",
    operation: "deployProject",
    user: "ann",
    request: { yaml: pair, files: {}, replace: false },
    status: "running",
    startedAt: now,
    steps: [],
    done: 0,
  });
  const next = made.restart();
  await next.service.recover();
  const ann = await next.login();
  expect(await ann.get("getJob", { id: "j1" })).toMatchObject({ status: "failed", outcome: "rolled_back" });
  expect((await ann.get("listLabs")).labs).toEqual([]);
});

test("a change that cannot be finished ends as interrupted, and the lab is free again", async () => {
  const made = bench();
  const client = await made.login();
  let dead = false;
  made.step = () => {
    dead = true;
    return new Promise<void>(() => {});
  };
  client.call("deployProject", { yaml: pair }).catch(() => {});
  await until(() => dead);
  made.step = () => {
    throw new Failure("host_error", "still broken");
  };
  const next = made.restart();
  await next.service.recover();
  const ann = await next.login();
  expect(await next.store.jobs.lastOf("/pair")).toMatchObject({ status: "failed", outcome: "interrupted", error: { code: "host_error" } });
  made.step = () => {};
  expect(await ann.call("reconcileProject", { yaml: pair })).toMatchObject({ status: "applied" });
});

test("on a host that needs a password, the change ends as interrupted", async () => {
  const { resume: _resume, ...host } = memoryHost({ users });
  const store = sqliteStore(":memory:");
  const made = bench({ host, store });
  store.jobs.insert({
    id: "j1",
    lab: "/pair",
    operation: "destroyProject",
    user: "ann",
    request: { wipe: true },
    status: "running",
    startedAt: made.time.now,
    steps: [{ id: "delete:lab:pair", op: "delete", kind: "lab", key: "pair", do: "delete-lab" }],
    done: 0,
  });
  await made.service.recover();
  expect(await store.jobs.get("j1")).toMatchObject({ status: "failed", outcome: "interrupted", error: { code: "expired_host_session" } });
  expect(made.log.some((line) => line.includes("cut off by a restart"))).toBe(true);
});

test.each<[string, { readonly operation?: string; readonly request?: unknown; readonly raw?: string }, RegExp]>([
  ["an operation that this version does not know", { operation: "melt" }, /does not know the operation melt/],
  ["a request that is another operation's", { request: { wipe: true } }, /holds no request of reconcileProject/],
  ["no request", { request: null }, /holds no request/],
  ["files that are not texts", { request: { yaml: pair, files: { a: 1 }, prune: true, confirm: true } }, /holds no request.*: \/files\/a /],
  [
    "a request of a newer release",
    { request: { version: 2, yaml: pair, files: {}, prune: true, confirm: true } },
    /request of reconcileProject has version 2; this release reads version 1/,
  ],
  ["a request that was damaged", { raw: "request = '{'" }, /cannot be read/],
  ["steps that were damaged", { raw: "steps = '[{'" }, /cannot be read/],
])("a journal row with %s ends as interrupted and changes nothing, and the service starts", async (_what, { raw, ...row }, text) => {
  const file = join(folder(), "labwright.db");
  const made = bench({ store: sqliteStore(file) });
  const client = await made.login();
  await client.call("deployProject", { yaml: pair });
  made.store.jobs.insert({
    id: "j1",
    lab: "/pair",
    operation: "reconcileProject",
    user: "ann",
    request: { yaml: "name: pair\nnodes: {}\n", files: {}, prune: true, confirm: true },
    ...row,
    status: "running",
    startedAt: made.time.now,
    steps: [{ id: "s", op: "delete", kind: "node", key: "r1", do: "delete-node" }],
    done: 0,
  });
  if (raw !== undefined) {
    const db = new DatabaseSync(file);
    db.exec(`UPDATE jobs SET ${raw} WHERE id = 'j1'`);
    db.close();
  }
  const next = made.restart();
  await next.service.recover();
  const ann = await next.login();
  const job = await ann.get("getJob", { id: "j1" });
  expect(job).toMatchObject({ status: "failed", outcome: "interrupted", error: { code: "cancelled", error: expect.stringMatching(text) } });
  expect((await ann.get("listJobs")).jobs.map((one) => one.job)).toContain("j1");
  expect(await powers(ann)).toEqual({ r1: "running", r2: "running" });
});

test("a request of an older release, without a version, is finished", async () => {
  const made = bench();
  const ann = await made.login();
  await ann.call("deployProject", { yaml: pair });
  const { identity } = made.store.labs.get("/pair")!;
  made.store.jobs.insert({
    id: "j1",
    lab: "/pair",
    identity,
    owner: "ann",
    operation: "destroyProject",
    user: "ann",
    request: { wipe: true },
    status: "running",
    startedAt: made.time.now,
    steps: [{ id: "delete:lab:pair", op: "delete", kind: "lab", key: "pair", do: "delete-lab" }],
    done: 0,
  });
  const next = made.restart();
  await next.service.recover();
  expect(await next.store.jobs.get("j1")).toMatchObject({ outcome: "finished_after_restart" });
  expect(next.store.labs.get("/pair")).toBeUndefined();
});

test("a change of a lab that is gone is not finished on the lab that came to its path", async () => {
  const made = bench();
  const bob = await made.login("bob");
  await bob.call("deployProject", { yaml: pair });
  made.store.jobs.insert({
    id: "j1",
    lab: "/pair",
    identity: "0".repeat(24),
    owner: "ann",
    operation: "destroyProject",
    user: "ann",
    request: { wipe: true },
    status: "running",
    startedAt: made.time.now,
    steps: [{ id: "delete:lab:pair", op: "delete", kind: "lab", key: "pair", do: "delete-lab" }],
    done: 0,
  });
  const next = made.restart();
  await next.service.recover();
  expect(await next.store.jobs.get("j1")).toMatchObject({ outcome: "interrupted" });
  expect(await bob.call("getProjectStatus", { lab: "/pair" })).toMatchObject({ exists: true });
});
