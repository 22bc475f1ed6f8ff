import { afterEach, expect, test } from "vitest";
import { type Bench, createBench, failureOf, pair, until } from "../../service.fixture.ts";
import { postgresAddress } from "../address/address.ts";
import { cluster, postgresPrograms } from "../testing/cluster.fixture.ts";
import { FaultyProxy } from "../testing/faulty-proxy.fixture.ts";
import { postgresStore } from "./postgres-store.ts";

interface Faulty extends Bench {
  readonly proxy: FaultyProxy;
  readonly database: string;
}

const ends: (() => Promise<void>)[] = [];
async function faulty(leaseMs = 30_000): Promise<Faulty> {
  const { socket, database } = await cluster();
  const { config } = await database();
  const proxy = new FaultyProxy(`${socket}/.s.PGSQL.5432`);
  const port = await proxy.listen();
  const address = postgresAddress(`postgres://labwright@127.0.0.1:${port}/${config.database}?sslmode=disable`);
  const store = await postgresStore(address, { installation: "one", log: () => {}, leaseMs });
  const made = createBench({ store });
  ends.push(async () => {
    proxy.set("none");
    await made.service.close();
    await made.host.close();
    await proxy.close();
  });
  return Object.assign(made, { proxy, database: String(config.database) });
}
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const is = { skip: postgresPrograms === undefined, timeout: 120_000 };
const named = (name: string) => pair.replace("name: pair", `name: ${name}`);

test.for(["refuse", "silent"] as const)(
  "without PostgreSQL (%s) reads answer and report their age, changes are refused and do nothing",
  is,
  async (fault) => {
    const made = await faulty();
    const ann = await made.login();
    await ann.call("deployProject", { yaml: pair });
    expect(await made.service.handlers.getHealth({} as never, null, {} as never)).toMatchObject({ store: { reachable: true } });
    made.proxy.set(fault);
    const failure = await failureOf(ann.call("destroyProject", { lab: "/pair" }));
    expect(failure).toMatchObject({ code: "store_unavailable", status: 503, retryAfter: 5 });
    expect((await ann.get("listLabs")).labs.map(({ lab }) => lab)).toEqual(["/pair"]);
    expect(await ann.call("getProjectStatus", { lab: "/pair" })).toMatchObject({ exists: true });
    expect((await failureOf(made.login("bob"))).code).toBe("store_unavailable");
    const health = await made.service.handlers.getHealth({} as never, null, {} as never);
    expect(health.store).toMatchObject({ reachable: false, age: expect.any(Number) });
    made.proxy.set("none");
    await until(async () =>
      ann.call("destroyProject", { lab: "/pair" }).then(
        () => true,
        () => false,
      ),
    );
    await until(async () => (await made.store.jobs.unfinished()).length === 0);
    expect(made.store.labs.list()).toEqual([]);
  },
);

test("a connection cut at any statement of a change, before or after it, leaves the change done once or refused", is, async () => {
  const made = await faulty();
  const ann = await made.login();
  const before = made.proxy.statements;
  await ann.call("deployProject", { yaml: named("lab-0") });
  const most = made.proxy.statements - before;
  expect(most).toBeGreaterThan(5);
  for (let left = 1; left <= most; left += 1) {
    for (const when of ["before", "after"] as const) {
      const lab = `/lab-${left}-${when}`;
      made.proxy.cut = { left, when };
      const answer = await ann.call("deployProject", { yaml: named(lab.slice(1)) }).then(
        () => "done",
        (error: { code?: string }) => error.code,
      );
      made.proxy.cut = undefined;
      expect(["done", "store_unavailable"], `${lab}: ${answer}`).toContain(answer);
      await until(async () => (await made.store.jobs.unfinished()).length === 0);
      const record = made.store.labs.get(lab);
      const isOnHost = (await ann.get("listLabs")).labs.some((one) => one.lab === lab);
      expect([record !== undefined, isOnHost], lab).toEqual(answer === "done" ? [true, true] : [isOnHost, isOnHost]);
      if (record === undefined) continue;
      expect((await ann.call("planProject", { yaml: named(lab.slice(1)) })).actions, lab).toEqual([]);
    }
  }
  // Memory and database have the same labs.
  expect(await storedLabs(made)).toEqual(made.store.labs.list().map(({ path, serial }) => `${path} ${serial}`));
});

test("an outage longer than the lease interrupts a running change, which continues when PostgreSQL answers again", is, async () => {
  const made = await faulty(1_500);
  const ann = await made.login();
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  let isHeld = false;
  made.step = (_lab, { step }) => {
    if (step.do !== "start") return;
    isHeld = true;
    return gate;
  };
  const deploying = failureOf(ann.call("deployProject", { yaml: pair }));
  await until(() => isHeld);
  made.proxy.set("refuse");
  await until(() => made.log.some((line) => line.includes("change interrupted")) || made.store.shared?.silentMs() !== undefined);
  // The step in flight ends after the lease.
  setTimeout(release, 1_500);
  const failure = await deploying;
  expect(failure).toMatchObject({ code: "store_unavailable", data: { job: expect.any(String) } });
  expect((await ann.get("listLabs")).labs.map(({ lab }) => lab)).toEqual(["/pair"]);
  made.proxy.set("none");
  const job = (failure.data as { job: string }).job;
  await until(async () => (await made.store.jobs.get(job))?.status === "done");
  expect(await made.store.jobs.get(job)).toMatchObject({ outcome: "finished_after_restart" });
  expect((await ann.call("planProject", { yaml: pair })).actions).toEqual([]);
});

async function storedLabs(made: Faulty): Promise<readonly string[]> {
  const name = made.database;
  const rows = await (await cluster()).query(name, "SELECT path, record::json ->> 'serial' AS serial FROM labs ORDER BY path");
  return rows.map(({ path, serial }) => `${path} ${serial}`);
}
