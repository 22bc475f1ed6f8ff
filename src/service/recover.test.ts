import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, test } from "vitest";
import { Failure } from "../contract/errors.ts";
import type { Host, HostSession } from "../hosts/host.ts";
import { memoryHost } from "../hosts/memory/memory-host.ts";
import { type Bench, type Client, createBench, pair, three, until, users } from "./service.fixture.ts";
import { sqliteStore } from "./store/sqlite.ts";

const benches: Bench[] = [];
const folders: string[] = [];
function bench(): Bench {
  const made = createBench();
  benches.push(made);
  return made;
}
afterEach(async () => {
  for (const { host, store } of benches.splice(0)) {
    await host.close();
    store.close();
  }
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const wanted = three.replace("r1: {template: frr}", "r1: {template: frr, env: {A: b}}");

/**
 * Begins a change and lets the service die after `after` steps: its host never answers again, and nothing it does later reaches the
 * journal. Answers the service that starts next on the same host and store, recovered; undefined when the change had fewer steps.
 */
async function crash(made: Bench, after: number, change: (client: Client) => Promise<unknown>): Promise<Bench | undefined> {
  const client = await made.login();
  let steps = 0;
  let dead = false;
  made.step = () => {
    if (steps === after) {
      dead = true;
      return new Promise<void>(() => {});
    }
    steps += 1;
  };
  let ended = false;
  change(client).then(
    () => {
      ended = true;
    },
    () => {
      ended = true;
    },
  );
  await until(() => dead || ended);
  made.step = () => {};
  if (ended) return undefined;
  const next = made.restart();
  await next.service.recover();
  return next;
}

async function powers(client: Client): Promise<Record<string, string>> {
  const { nodes } = await client.call("inspectProject", { lab: "/pair", refresh: true });
  return Object.fromEntries(nodes.map(({ node, name, status }) => [node ?? name, status]));
}

/** Crashes after 0, 1, 2 … steps until the change gets through, and checks each time. Answers how many crashes there were. */
async function atEveryStep(
  prepare: (client: Client) => Promise<unknown>,
  change: (client: Client) => Promise<unknown>,
  check: (next: Bench, client: Client) => Promise<void>,
): Promise<number> {
  for (let after = 0; ; after += 1) {
    const made = bench();
    await prepare(await made.login());
    const next = await crash(made, after, change);
    if (next === undefined) return after;
    const [job] = [next.store.jobs.lastOf("/pair")];
    expect(job, `after ${after} steps`).toMatchObject({ status: "done", outcome: "finished_after_restart" });
    expect(next.store.jobs.unfinished()).toEqual([]);
    await check(next, await next.login());
  }
}

test("a deploy that a crash cut off at any step is finished, nodes started", async () => {
  const crashes = await atEveryStep(
    async () => {},
    (client) => client.call("deployProject", { yaml: three }),
    async (_next, client) => {
      expect(await powers(client)).toEqual({ r1: "running", r2: "running", r3: "running" });
      expect((await client.call("planProject", { yaml: three })).actions).toEqual([]);
      const status = await client.call("getProjectStatus", { lab: "/pair" });
      expect(status.last_job).toMatchObject({ operation: "deployProject", outcome: "finished_after_restart" });
      expect(await client.get("getJob", { id: status.last_job!.job })).toMatchObject({
        outcome: "finished_after_restart",
        result: { nodes: 3 },
      });
    },
  );
  expect(crashes).toBeGreaterThan(8);
});

test("a replacing deploy that a crash cut off at any step ends as the new lab, whole", async () => {
  const crashes = await atEveryStep(
    (client) => client.call("deployProject", { yaml: pair }),
    (client) => client.call("deployProject", { yaml: three, replace: true }),
    async (_next, client) => {
      expect(await powers(client)).toEqual({ r1: "running", r2: "running", r3: "running" });
      expect((await client.call("planProject", { yaml: three })).actions).toEqual([]);
    },
  );
  expect(crashes).toBeGreaterThan(12);
});

test("a confirmed reconcile that a crash cut off at any step is finished, and what it stopped runs again", async () => {
  const crashes = await atEveryStep(
    (client) => client.call("deployProject", { yaml: pair }),
    async (client) => {
      const { plan_identity } = await client.call("planProject", { yaml: wanted });
      return client.call("reconcileProject", { yaml: wanted, confirm: true, plan_identity: plan_identity! });
    },
    async (_next, client) => {
      expect(await powers(client)).toEqual({ r1: "running", r2: "running", r3: "running" });
      expect((await client.call("planProject", { yaml: wanted })).actions).toEqual([]);
    },
  );
  expect(crashes).toBeGreaterThan(4);
});

test("a reconcile without confirm that a crash cut off stops no node when it is finished", async () => {
  const stopped: string[] = [];
  const crashes = await atEveryStep(
    (client) => client.call("deployProject", { yaml: pair }),
    (client) => client.call("reconcileProject", { yaml: wanted }),
    async (next, client) => {
      expect(await powers(client)).toEqual({ r1: "running", r2: "running", r3: "running" });
      const plan = await client.call("planProject", { yaml: wanted });
      expect(plan.actions?.map(({ key }) => key)).toEqual(["r1"]);
      stopped.push(
        ...next.store.jobs
          .lastOf("/pair")!
          .steps.filter(({ op }) => op === "stop")
          .map(({ key }) => key),
      );
    },
  );
  expect(crashes).toBeGreaterThan(1);
  expect(stopped).toEqual([]);
});

test("a destroy that a crash cut off at any step is finished", async () => {
  const crashes = await atEveryStep(
    (client) => client.call("deployProject", { yaml: pair }),
    (client) => client.call("destroyProject", { lab: "/pair" }),
    async (next) => {
      expect(await (await next.host.resume!("ann"))!.labs()).toEqual([]);
      expect(next.store.labs.list()).toEqual([]);
    },
  );
  expect(crashes).toBeGreaterThan(2);
});

test("an exec that a crash cut off at any step is finished", async () => {
  const crashes = await atEveryStep(
    (client) => client.call("deployProject", { yaml: three }),
    (client) => client.call("execProject", { lab: "/pair", action: "stop", nodes: ["r1", "r2"] }),
    async (_next, client) => {
      expect(await powers(client)).toEqual({ r1: "stopped", r2: "stopped", r3: "running" });
    },
  );
  expect(crashes).toBe(2);
});

test("an interrupted save is repeated, because its outcome is unknown", async () => {
  const memory = memoryHost({ users });
  let dies: (() => void) | undefined;
  const mortal = (session: HostSession): HostSession => ({
    ...session,
    saveConfigs: (...asked) => {
      if (dies === undefined) return session.saveConfigs!(...asked);
      dies();
      return new Promise(() => {});
    },
  });
  const host: Host = {
    ...memory,
    login: async (...given) => mortal(await memory.login(...given)),
    resume: async (user) => {
      const session = await memory.resume!(user);
      return session && mortal(session);
    },
  };
  const made = createBench({ host });
  benches.push(made);
  const ann = await made.login();
  await ann.call("deployProject", { yaml: pair });
  let dead = false;
  dies = () => {
    dead = true;
  };
  const { job } = (await ann.call("saveConfigs", { lab: "/pair", node: "r1" }, { respondAsync: true })) as { job: string };
  await until(() => dead);
  dies = undefined;
  const next = made.restart();
  await next.service.recover();
  const state = next.store.jobs.get(job);
  expect(state).toMatchObject({ status: "done", outcome: "finished_after_restart", result: { saved: 1, nodes: [{ node: "r1" }] } });
  expect(JSON.stringify(state?.result)).not.toContain("hostname");
});

test("changes of snapshots that a crash cut off are finished, whether the host had made them or not", async () => {
  const kept = new Map([
    ["made", 1],
    ["old", 2],
  ]);
  const restored: string[] = [];
  const snapshots: HostSession["snapshots"] = {
    list: async () => [...kept].map(([name, takenAt]) => ({ name, takenAt })),
    take: async (_lab, name) => {
      if (kept.has(name)) throw new Failure("snapshot_exists", name);
      kept.set(name, 3);
      return { name, takenAt: 3 };
    },
    restore: async (_lab, name, ids) => {
      restored.push(name);
      return { ids, nodes: [{ id: "1", name: "r1", disk: "kept" }], removed: [] };
    },
    remove: async (_lab, name) => {
      if (!kept.delete(name)) throw new Failure("snapshot_not_found", name);
    },
    removeAll: async () => 0,
  };
  const memory = memoryHost({ users });
  const snapping = (session: HostSession): HostSession => ({
    ...session,
    snapshots,
    capabilities: async () => {
      const offered = await session.capabilities();
      return { ...offered, features: { ...offered.features, snapshots: true } };
    },
  });
  const host: Host = {
    ...memory,
    login: async (user, password) => snapping(await memory.login(user, password)),
    resume: async (user) => snapping((await memory.resume?.(user)) as HostSession),
  };
  const made = createBench({ host });
  benches.push(made);
  await (await made.login()).call("deployProject", { yaml: pair });
  for (const [operation, snapshot, result] of [
    ["takeSnapshot", "made", { snapshot: "made", nodes: 2 }],
    ["takeSnapshot", "new", { snapshot: "new", nodes: 2 }],
    ["restoreSnapshot", "made", { nodes: [{ node: "r1", disk: "kept" }], removed: [] }],
    ["removeSnapshot", "old", { snapshot: "old" }],
    ["removeSnapshot", "gone", { snapshot: "gone" }],
  ] as const) {
    const id = `${operation} ${snapshot}`;
    const row = { id, lab: "/pair", operation, user: "ann", request: { snapshot }, status: "running", startedAt: made.time.now } as const;
    made.store.jobs.insert({ ...row, steps: [], done: 0 });
    await made.restart().service.recover();
    expect(made.store.jobs.get(id), id).toMatchObject({ status: "done", outcome: "finished_after_restart", result });
  }
  expect([[...kept.keys()].sort(), restored]).toEqual([["made", "new"], ["made"]]);
});

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
  expect(next.store.jobs.lastOf("/pair")).toMatchObject({ status: "failed", outcome: "interrupted", error: { code: "host_error" } });
  made.step = () => {};
  expect(await ann.call("reconcileProject", { yaml: pair })).toMatchObject({ status: "applied" });
});

test("on a host that needs a password, the change ends as interrupted", async () => {
  const { resume: _resume, ...host } = memoryHost({ users });
  const store = sqliteStore(":memory:");
  const made = createBench({ host, store });
  benches.push(made);
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
  expect(store.jobs.get("j1")).toMatchObject({ status: "failed", outcome: "interrupted", error: { code: "expired_host_session" } });
  expect(made.log.some((line) => line.includes("cut off by a restart"))).toBe(true);
});

test.each<[string, { readonly operation?: string; readonly request?: unknown; readonly raw?: string }, RegExp]>([
  ["an operation that this version does not know", { operation: "melt" }, /does not know the operation melt/],
  ["a request that is another operation's", { request: { wipe: true } }, /holds no request of reconcileProject/],
  ["no request", { request: null }, /holds no request/],
  ["files that are no texts", { request: { yaml: pair, files: { a: 1 }, prune: true, confirm: true } }, /holds no request.*: \/files\/a /],
  [
    "a request of a newer release",
    { request: { version: 2, yaml: pair, files: {}, prune: true, confirm: true } },
    /request of reconcileProject has version 2; this release reads version 1/,
  ],
  ["a request that was damaged", { raw: "request = '{'" }, /cannot be read/],
  ["steps that were damaged", { raw: "steps = '[{'" }, /cannot be read/],
])("a journal row with %s ends as interrupted and changes nothing, and the service starts", async (_what, { raw, ...row }, text) => {
  const folder = mkdtempSync(join(tmpdir(), "service-store-"));
  folders.push(folder);
  const file = join(folder, "labwright.db");
  const made = createBench({ store: sqliteStore(file) });
  benches.push(made);
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
  expect(next.store.jobs.get("j1")).toMatchObject({ outcome: "finished_after_restart" });
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
  expect(next.store.jobs.get("j1")).toMatchObject({ outcome: "interrupted" });
  expect(await bob.call("getProjectStatus", { lab: "/pair" })).toMatchObject({ exists: true });
});
