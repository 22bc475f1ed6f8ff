import { expect, test } from "vitest";
import { Failure } from "../../contract/errors.ts";
import type { Host, HostSession } from "../../hosts/host.ts";
import { memoryHost } from "../../hosts/memory/memory-host.ts";
import { failureOf, pair, three, until, users } from "../service.fixture.ts";
import type { JobRow } from "../store/store.ts";

import { atEveryStep, bench, endBenches, powers, wanted } from "./recover.fixture.ts";

endBenches();

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
      stopped.push(...(await next.store.jobs.lastOf("/pair"))!.steps.filter(({ op }) => op === "stop").map(({ key }) => key));
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
  const made = bench({ host });
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
  const state = await next.store.jobs.get(job);
  expect(state).toMatchObject({ status: "done", outcome: "finished_after_restart", result: { saved: 1, nodes: [{ node: "r1" }] } });
  expect(JSON.stringify(state?.result)).not.toContain("hostname");
});

/** A service whose host has snapshots. `away`: the host asks for a password, so that a restart finishes no change. */
async function withSnapshots(kept: Map<string, number>, away: { now: boolean } = { now: false }) {
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
    resume: async (user) => (away.now ? null : snapping((await memory.resume?.(user)) as HostSession)),
  };
  const made = bench({ host });
  await (await made.login()).call("deployProject", { yaml: pair });
  const cutOff = async (operation: string, snapshot: string) => {
    const id = `${operation} ${snapshot}`;
    const row = { id, lab: "/pair", operation, user: "ann", request: { snapshot }, status: "running", startedAt: made.time.now } as const;
    made.store.jobs.insert({ ...row, steps: [], done: 0 });
    const next = made.restart();
    await next.service.recover();
    return { next, job: await made.store.jobs.get(id) };
  };
  return { cutOff, restored };
}

test("changes of snapshots that a crash cut off are finished, whether the host had made them or not", async () => {
  const kept = new Map([
    ["made", Date.UTC(2026, 0, 1)],
    ["old", 2],
  ]);
  const { cutOff, restored } = await withSnapshots(kept);
  for (const [operation, snapshot, result] of [
    ["takeSnapshot", "made", { snapshot: "made", nodes: 2 }],
    ["takeSnapshot", "new", { snapshot: "new", nodes: 2 }],
    ["restoreSnapshot", "made", { nodes: [{ node: "r1", disk: "kept" }], removed: [] }],
    ["removeSnapshot", "old", { snapshot: "old" }],
    ["removeSnapshot", "gone", { snapshot: "gone" }],
  ] as const) {
    expect((await cutOff(operation, snapshot)).job, `${operation} ${snapshot}`).toMatchObject({
      status: "done",
      outcome: "finished_after_restart",
      result,
    });
  }
  expect([[...kept.keys()].sort(), restored]).toEqual([["made", "new"], ["made"]]);
});

test("a snapshot that a restart cut off may be taken again: the host has it, or has not, or has an older one of that name", async () => {
  const kept = new Map([
    ["made", Date.UTC(2026, 0, 1)],
    ["older", 2],
  ]);
  const away = { now: true };
  const { cutOff } = await withSnapshots(kept, away);
  const again = async (snapshot: string) => {
    away.now = true;
    const { next, job } = await cutOff("takeSnapshot", snapshot);
    expect(job).toMatchObject({ outcome: "interrupted", error: { code: "expired_host_session" } });
    away.now = false;
    return (await next.login()).call("takeSnapshot", { lab: "/pair", snapshot });
  };
  expect(await again("made")).toMatchObject({ snapshot: "made", nodes: 2 });
  expect(await again("new")).toMatchObject({ snapshot: "new", nodes: 2 });
  expect(await failureOf(again("older"))).toMatchObject({ code: "snapshot_exists" });
});

test("a change that was stopped with the lease of its service does not replace the text of a newer change that has ended meanwhile", async () => {
  const made = bench();
  const client = await made.login();
  const rows: JobRow[] = [];
  const { insert } = made.store.jobs;
  Object.assign(made.store.jobs, {
    insert: async (row: JobRow) => {
      rows.push(row);
      await insert(row);
    },
  });
  await client.call("deployProject", { yaml: pair });
  await client.call("reconcileProject", { yaml: three });
  await client.call("reconcileProject", { yaml: wanted });
  const older = {
    ...rows[1]!,
    id: "older",
    startedAt: rows[1]!.startedAt - 1,
    steps: [{ id: "s", op: "start", kind: "node", key: "r1", do: "start" }],
  };
  await insert(older as JobRow);
  await made.service.recover();
  expect(made.store.labs.get("/pair")?.yaml).toBe(wanted);
  expect(await client.get("getJob", { id: "older" })).toMatchObject({
    outcome: "interrupted",
    error: { error: expect.stringContaining("a newer change of /pair has ended") },
  });
});
