import { afterEach, describe, expect, test } from "vitest";
import { memoryHost } from "../../hosts/memory/memory-host.ts";
import type { Clock } from "../common/clock.ts";
import { type Bench, type Client, createBench, failureOf, pair, until, users } from "../service.fixture.ts";
import { sqliteStore } from "../store/sqlite.ts";
import { Jobs } from "./jobs.ts";

const benches: Bench[] = [];
function bench(...options: Parameters<typeof createBench>): Bench {
  const made = createBench(...options);
  benches.push(made);
  return made;
}
afterEach(async () => {
  for (const { service, host } of benches.splice(0)) {
    await service.close();
    await host.close();
  }
});

describe("one change at a time", () => {
  test("a second change of the lab finds it busy, other labs and reads go on", async () => {
    const made = bench();
    const ann = await made.login();
    let release = () => {};
    const held = new Promise<void>((settle) => {
      release = settle;
    });
    made.step = (lab, { step }) => (lab === "/pair" && step.do === "start" ? held : undefined);
    const first = ann.call("deployProject", { yaml: pair });
    await until(async () => (await made.store.jobs.unfinished())[0]?.steps.some(({ do: what }) => what === "start") === true);
    const busy = await failureOf(ann.call("destroyProject", { lab: "/pair" }));
    expect(busy).toMatchObject({ code: "lab_busy", retryAfter: 2, data: { operation: { name: "deployProject", user: "ann" } } });
    const { operation } = await ann.call("getProjectStatus", { lab: "/pair" });
    expect(operation).toMatchObject({ name: "deployProject", user: "ann" });
    expect(operation!.steps).toBeGreaterThan(0);
    await ann.call("deployProject", { yaml: pair.replace("name: pair", "name: other") });
    release();
    await first;
    const { last_job } = await ann.call("getProjectStatus", { lab: "/pair" });
    expect(last_job).toMatchObject({ operation: "deployProject", outcome: "finished" });
  });

  test("a lab whose first deploy has no plan yet is busy for its user, and not found for others", async () => {
    const memory = memoryHost({ users });
    let release = () => {};
    const planned = new Promise<void>((settle) => {
      release = settle;
    });
    let looks = 0;
    const host: typeof memory = {
      ...memory,
      login: async (user, password) => {
        const session = await memory.login(user, password);
        return { ...session, observe: async (lab) => (looks++ === 0 ? planned.then(() => session.observe(lab)) : session.observe(lab)) };
      },
    };
    const made = bench({ host });
    const [ann, bob] = [await made.login(), await made.login("bob")];
    const started = await ann.call("deployProject", { yaml: pair }, { respondAsync: true });
    if (!("job" in started)) throw new Error("no job");
    const lab = "/pair";
    expect(looks).toBe(1);
    expect(await ann.call("getProjectStatus", { lab })).toMatchObject({ exists: false, operation: { name: "deployProject", user: "ann" } });
    const endpoints: [string, string] = ["r1:eth1", "r2:eth1"];
    for (const change of [
      (client: Client) => client.call("destroyProject", { lab }),
      (client: Client) => client.call("execProject", { lab, action: "stop" }),
      (client: Client) => client.call("setLinkSuspend", { lab, endpoints, suspended: true }),
    ]) {
      expect((await failureOf(change(ann))).code).toBe("lab_busy");
      expect((await failureOf(change(bob))).code).toBe("lab_not_found");
    }
    expect((await failureOf(bob.call("getProjectStatus", { lab }))).code).toBe("lab_not_found");
    release();
    await until(async () => (await ann.get("getJob", { id: started.job })).status === "done");
    expect(await ann.call("getProjectStatus", { lab })).toMatchObject({ exists: true });
  });

  test("respond-async returns the job at once, and the job shows progress and result", async () => {
    const ann = await bench().login();
    const started = await ann.call("deployProject", { yaml: pair }, { respondAsync: true });
    if (!("job" in started)) throw new Error("no job");
    const job = () => ann.get("getJob", { id: started.job });
    await until(async () => (await job()).status === "done");
    expect(await job()).toMatchObject({
      operation: "deployProject",
      lab: "/pair",
      outcome: "finished",
      result: { lab: "/pair", nodes: 2 },
    });
  });

  test("a job of somebody else is not there, and a cancelled one stops after the step in flight", async () => {
    const made = bench();
    const [ann, bob] = [await made.login(), await made.login("bob")];
    let release = () => {};
    const held = new Promise<void>((settle) => {
      release = settle;
    });
    made.step = (_lab, { step }) => (step.do === "create-node" ? held : undefined);
    const started = await ann.call("deployProject", { yaml: pair }, { respondAsync: true });
    if (!("job" in started)) throw new Error("no job");
    await until(async () => (await made.store.jobs.get(started.job))!.steps.length > 0);
    expect((await failureOf(bob.get("getJob", { id: started.job }))).code).toBe("job_not_found");
    await ann.get("cancelJob", { id: started.job });
    release();
    await until(async () => (await made.store.jobs.get(started.job))!.status !== "running");
    const job = await ann.get("getJob", { id: started.job });
    expect(job).toMatchObject({ status: "cancelled", error: { code: "cancelled" } });
    expect(job.step).toBeLessThan(job.steps);
    expect((await failureOf(ann.get("cancelJob", { id: started.job }))).code).toBe("operation_not_allowed");
  });
});

test("a change that starts when the lab is idle waits for the end of the change of a user, which it does not refuse", async () => {
  const store = sqliteStore(":memory:");
  const jobs = new Jobs(store, { now: Date.now } as Clock, () => {}, { stallMs: 60_000, graceMs: 1_000 });
  const order: string[] = [];
  const change = (operation: string, work: () => Promise<void>) => ({
    operation,
    lab: "/lab",
    user: "ann",
    request: null,
    work: async () => {
      await work();
      order.push(operation);
      return null;
    },
  });
  const release = jobs.hold("/lab", "moveLab", "ann");
  const waiting = jobs.startWhenIdle(change("resumeLab", async () => {}));
  await new Promise((resolve) => setTimeout(resolve, 60));
  release();
  const first = await waiting;
  await first.result;
  let end = () => {};
  const slow = new Promise<void>((resolve) => {
    end = resolve;
  });
  await jobs.start(change("reconcileProject", () => slow));
  const second = jobs.startWhenIdle(change("resumeLab", async () => {}));
  expect(order).toEqual(["resumeLab"]);
  end();
  await (await second).result;
  expect(order).toEqual(["resumeLab", "reconcileProject", "resumeLab"]);
  await store.close();
});
