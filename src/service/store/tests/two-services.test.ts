import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { type Bench, createBench, failureOf, pair, three, until } from "../../service.fixture.ts";
import type { PostgresAddress } from "../address/address.ts";
import { postgresStore } from "../postgres/postgres-store.ts";
import { cluster, postgresPrograms } from "../testing/cluster.fixture.ts";

const benches: Bench[] = [];
async function service(address: PostgresAddress, installation: string, leaseMs?: number): Promise<Bench> {
  const store = await postgresStore(address, { installation, log: () => {}, ...(leaseMs !== undefined && { leaseMs }) });
  const made = createBench({ store });
  benches.push(made);
  return made;
}
afterEach(async () => {
  for (const { service, host } of benches.splice(0)) {
    await service.close();
    await host.close();
  }
});

const is = { skip: postgresPrograms === undefined, timeout: 60_000 };

test("two services on one database: a lab has one owner, the other service sees its record, sessions are valid in both", is, async () => {
  const address = await (await cluster()).database();
  const [one, two] = [await service(address, "one"), await service(address, "two")];
  const ann = await one.login();
  await ann.call("deployProject", { yaml: pair });
  await until(() => two.store.labs.get("/pair")?.applied !== undefined);
  expect(two.store.labs.get("/pair")).toEqual(one.store.labs.get("/pair"));
  await until(() => two.store.sessions.find(ann.caller.session) !== undefined);
  expect(two.service.authenticate(ann.token)).toMatchObject({ user: "ann" });
  expect((await failureOf(two.store.labs.put({ ...one.store.labs.get("/pair")!, serial: 9 }))).code).toBe("lab_elsewhere");
  expect(two.store.labs.get("/pair")?.serial).toBe(1);
  await one.store.quotas.put({ kind: "user", name: "ann", labs: 1 });
  await until(() => two.store.quotas.list().length === 1);
  expect((await failureOf(two.login().then((bob) => bob.call("deployProject", { yaml: pair.replace("pair", "more") })))).code).toBe(
    "quota_exceeded",
  );
  await two.store.quotas.delete("user", "ann");
  await until(() => one.store.quotas.list().length === 0);
  await ann.call("destroyProject", { lab: "/pair" });
  await until(() => two.store.labs.get("/pair") === undefined);
  await until(() => two.store.jobs.lastEnd("/pair")?.operation === "destroyProject");
  await one.store.sessions.revoke(ann.caller.session);
  await until(() => two.store.sessions.find(ann.caller.session)?.revoked === true);
});

test(
  "a lab of a service that has ended is free at once, and a restart on the same state directory takes its own labs back",
  is,
  async () => {
    const address = await (await cluster()).database();
    const one = await service(address, "one");
    await (await one.login()).call("deployProject", { yaml: pair });
    // The same installation again, without an end of the first: a crash.
    const again = await service(address, "one");
    await again.store.labs.put({ ...again.store.labs.get("/pair")!, origin: "again" });
    const old = await failureOf(one.store.labs.put({ ...one.store.labs.get("/pair")!, origin: "old" }));
    expect(old.code).toBe("lab_elsewhere");
    await benches.pop()?.service.close();
    const two = await service(address, "two");
    expect(two.store.labs.get("/pair")?.origin).toBe("again");
    await two.store.labs.put({ ...two.store.labs.get("/pair")!, origin: "two" });
  },
);

test("a service that was restarted keeps the labs that it has not changed since", is, async () => {
  const address = await (await cluster()).database();
  const first = await service(address, "one");
  await (await first.login()).call("deployProject", { yaml: pair });
  await benches.pop()?.service.close();
  await service(address, "one");
  const two = await service(address, "two");
  expect((await failureOf(two.store.labs.put({ ...two.store.labs.get("/pair")!, origin: "two" }))).code).toBe("lab_elsewhere");
});

test("of two services on copies of one state directory, the first gives up, and the second keeps its lease", is, async () => {
  const address = await (await cluster()).database();
  const first = await service(address, "one", 1_500);
  let isSuperseded = false;
  first.store.shared?.onSuperseded(() => {
    isSuperseded = true;
  });
  const copy = await service(address, "one", 1_500);
  await until(() => isSuperseded);
  await (await copy.login()).call("deployProject", { yaml: pair });
  expect((await failureOf(first.store.labs.put({ ...copy.store.labs.get("/pair")!, origin: "first" }))).code).toBe("lab_elsewhere");
});

test(
  "a service that is stopped past its lease loses the lab: its writes fail, it ends its change, and the other service's record stays",
  is,
  async () => {
    const leaseMs = 1_500;
    const made = await (await cluster()).database();
    const program = join(import.meta.dirname, "../testing/paused-service.fixture.ts");
    const child = spawn(process.execPath, [program, made.url, String(leaseMs)], { stdio: ["pipe", "pipe", "inherit"] });
    let out = "";
    child.stdout.on("data", (bytes) => {
      out += bytes;
    });
    const ended = once(child, "close");
    try {
      await until(() => out.includes("held"));
      const two = await service(made, "two");
      const ann = await two.login();
      expect((await failureOf(ann.call("reconcileProject", { yaml: three }))).code).toBe("lab_elsewhere");
      child.kill("SIGSTOP");
      // With the last failure in the message, if the lab is never taken over.
      let last: unknown;
      const takes = () =>
        ann.call("deployProject", { yaml: three, replace: true }).then(
          () => true,
          (error: unknown) => {
            last = error;
            return false;
          },
        );
      await until(takes).catch((error: unknown) => {
        throw new Error(`the lab was not taken over: ${String(last)}`, { cause: error });
      });
      const record = two.store.labs.get("/pair");
      child.kill("SIGCONT");
      child.stdin.write("go\n");
      await ended;
      expect(out).toMatch(/^deploy (store_unavailable|lab_elsewhere)$/m);
      expect(out).toMatch(/^destroy lab_elsewhere$/m);
      expect(two.store.labs.get("/pair")).toEqual(record);
      await benches.pop()?.service.close();
      // The database has the same, not only the memory of the second service.
      const next = await service(made, "two");
      const { usedAt: _usedAt, ...kept } = next.store.labs.get("/pair") ?? {};
      expect(kept).toEqual(record);
      expect(await next.store.jobs.unfinished()).toEqual([]);
      const outcomes = (await next.store.jobs.newest(10)).map(({ operation, outcome, error }) => [operation, outcome, error?.code]);
      expect(outcomes).toContainEqual(["deployProject", "interrupted", "cancelled"]);
      expect(outcomes.filter(([, outcome]) => outcome === "finished")).toHaveLength(1);
    } finally {
      child.kill("SIGCONT");
      child.kill("SIGKILL");
      await ended;
    }
  },
);
