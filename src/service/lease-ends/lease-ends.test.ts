import { expect, it } from "vitest";
import { Failure } from "../../contract/errors.ts";
import { type Bench, type Client, createBench, failureOf, pair, until } from "../service.fixture.ts";

const minute = 60_000;
const hour = 60 * minute;
const lab = "/pair";
const leased = (lease: string) => `${pair}lease: ${lease}\n`;

/** Lets time pass while the service looks at its leases. */
async function pass({ time, service }: Bench, ms: number): Promise<void> {
  const end = time.now + ms;
  while (time.now < end) {
    time.now = Math.min(end, time.now + 4 * minute);
    await service.lookAtLeases();
  }
}

/** Lets the machine sleep. */
async function sleep({ time, service }: Bench, ms: number): Promise<void> {
  time.now += ms;
  time.asleep = (time.asleep ?? 0) + ms;
  await service.lookAtLeases();
}

const running = async (client: Client) =>
  (await client.call("getProjectStatus", { lab })).live?.nodes?.filter(({ status }) => status === "running").length;

/** Returns the events of the lab's lease since an event, without their times. */
async function leaseEvents(client: Client, count: number): Promise<readonly unknown[]> {
  const stream = (await client.get("events", {}, { lab, types: "lab", after: "0" })) as unknown as AsyncIterable<{
    readonly data?: object;
  }>;
  const seen: object[] = [];
  for await (const { data } of stream) {
    if (data !== undefined && "lease" in data) seen.push(data);
    if (seen.length === count) break;
  }
  return seen;
}

it("a lab with a lease is warned of, stops at its end by a job of the lease, and begins again with a start", async () => {
  const bench = createBench();
  const ann = await bench.login("ann");
  await ann.call("deployProject", { yaml: leased("8h") });
  await pass(bench, 8 * hour - minute);
  expect(await running(ann)).toBe(2);
  await pass(bench, 2 * minute);
  expect(await running(ann)).toBe(0);
  const { lease } = await ann.call("getProjectStatus", { lab });
  expect(lease).toMatchObject({ at_end: "stop", for_ms: 8 * hour, ended_at: expect.any(String) });
  const [job] = (await ann.get("listJobs")).jobs;
  expect(job).toMatchObject({ operation: "endLease", user: "lease", lab, outcome: "finished" });
  expect(await leaseEvents(ann, 3)).toMatchObject([
    { lease: "warning", at_end: "stop", reason: "time" },
    { lease: "warning", at_end: "stop", reason: "time" },
    { lease: "ended", at_end: "stop" },
  ]);

  await ann.call("execProject", { lab, action: "start" });
  const again = (await ann.get("listLabs")).labs[0]?.lease;
  expect(again).toMatchObject({ ends_at: new Date(bench.time.now + 8 * hour).toISOString(), reason: "time" });
  await bench.service.close();
});

it("use and extensions keep a lab running, also over a restart of the service; reads do not", async () => {
  const bench = createBench();
  const ann = await bench.login("ann");
  await ann.call("deployProject", { yaml: leased("{idle: 2h, then: destroy}") });
  await pass(bench, 110 * minute);
  await ann.call("execConsole", { lab, node: "r1", command: "echo" });
  await pass(bench, 20 * minute);
  expect(await running(ann)).toBe(2);
  const extended = await ann.call("extendLease", { lab, extend_ms: 4 * hour });
  expect(extended).toEqual({
    lab,
    lease: expect.objectContaining({ reason: "idle", ends_at: new Date(bench.time.now + 6 * hour - 20 * minute).toISOString() }),
  });
  const next = bench.restart();
  const after = await next.login("ann");
  expect((await after.call("getProjectStatus", { lab })).lease).toEqual(extended.lease);
  await pass(next, 5 * hour);
  expect(await running(after)).toBe(2);
  await pass(next, 2 * hour);
  expect((await failureOf(after.call("getProjectStatus", { lab }))).code).toBe("lab_not_found");
  await next.service.close();
});

it("a machine that slept over the end warns first, and its user has five minutes", async () => {
  const bench = createBench();
  const ann = await bench.login("ann");
  await ann.call("deployProject", { yaml: leased("{for: 1h, then: destroy}") });
  await pass(bench, 56 * minute);
  await sleep(bench, 9 * hour);
  expect(await running(ann)).toBe(2);
  await pass(bench, 4 * minute);
  expect(await running(ann)).toBe(2);
  await pass(bench, 2 * minute);
  expect((await failureOf(ann.call("getProjectStatus", { lab }))).code).toBe("lab_not_found");
  await bench.service.close();
});

it("a lease waits for the change that runs, and a locked lab is tried again later", async () => {
  const bench = createBench();
  const ann = await bench.login("ann");
  await ann.call("deployProject", { yaml: leased("1h") });
  await pass(bench, 56 * minute);
  let release = () => {};
  bench.step = () => new Promise((settle) => (release = settle));
  const wiping = ann.call("execProject", { lab, action: "wipe", node: "r1" });
  await until(async () => (await ann.get("listJobs")).jobs[0]?.operation === "execProject");
  await pass(bench, 10 * minute);
  expect((await ann.get("listJobs")).jobs[0]).toMatchObject({ operation: "execProject", status: "running" });
  bench.step = () => {};
  release();
  await wiping;
  await ann.call("setLabLock", { lab, locked: true });
  await pass(bench, 4 * minute);
  expect((await ann.call("getProjectStatus", { lab })).lease).toMatchObject({ failed: { code: "lab_locked" } });
  await ann.call("setLabLock", { lab, locked: false });
  await pass(bench, 8 * minute);
  expect(await running(ann)).toBe(1);
  await pass(bench, 12 * minute);
  expect(await running(ann)).toBe(0);
  await bench.service.close();
});

it("a lease whose machine did not answer at its end is tried again within minutes", async () => {
  const bench = createBench();
  const ann = await bench.login("ann");
  await ann.call("deployProject", { yaml: leased("1h") });
  await pass(bench, 56 * minute);
  bench.step = () => {
    throw new Failure("machine_unreachable", "the machine beta does not answer");
  };
  await pass(bench, 5 * minute);
  expect((await ann.call("getProjectStatus", { lab })).lease).toMatchObject({ failed: { code: expect.any(String) } });
  expect(await running(ann)).toBeGreaterThan(0);
  bench.step = () => {};
  await pass(bench, 2 * minute);
  expect(await running(ann)).toBe(0);
  await bench.service.close();
});

it("a lease that is just ending cannot be extended", async () => {
  const bench = createBench();
  const ann = await bench.login("ann");
  await ann.call("deployProject", { yaml: leased("{for: 1h, then: destroy}") });
  await pass(bench, 58 * minute);
  let [release, reached] = [() => {}, () => {}];
  const ending = new Promise<void>((settle) => (reached = settle));
  bench.step = () =>
    new Promise((settle) => {
      release = settle;
      reached();
    });
  bench.time.now += 3 * minute;
  const looking = bench.service.lookAtLeases();
  await ending;
  expect((await failureOf(ann.call("extendLease", { lab, extend_ms: hour }))).code).toBe("lab_busy");
  bench.step = () => {};
  release();
  await looking;
  expect((await failureOf(ann.call("getProjectStatus", { lab }))).code).toBe("lab_not_found");
  await bench.service.close();
});

it("users end, extend and see the leases of other users only as far as their rights go", async () => {
  const bench = createBench();
  const [admin, ann, bob, eve] = [await bench.login("admin"), await bench.login("ann"), await bench.login("bob"), await bench.login("eve")];
  await ann.call("deployProject", { yaml: leased("{idle: 1h}") });
  const extend = { lab, extend_ms: hour };
  expect((await failureOf(bob.call("extendLease", extend))).code).toBe("lab_not_found");
  expect((await failureOf(eve.call("extendLease", extend))).code).toBe("operation_not_allowed");
  await ann.call("setLabGrants", { lab, grants: [{ user: "bob", right: "edit" }] });
  // An editor may not destroy the lab, and so may not have its lease destroy it.
  const destroying = leased("{for: 1m, then: destroy}");
  const refused = await failureOf(bob.call("reconcileProject", { lab, yaml: destroying }));
  expect(refused.message).toContain("only the owner of /pair may give it a lease that destroys it");
  expect((await ann.call("getProjectStatus", { lab })).lease).toMatchObject({ at_end: "stop" });
  await bob.call("editProject", { lab, intent: { yaml: destroying, files: {} } });
  await pass(bench, 10 * minute);
  expect(await running(ann)).toBe(2);
  // Calls that are refused do not count as use.
  await ann.call("setLabGrants", { lab, grants: [{ user: "bob", right: "view" }] });
  await pass(bench, 50 * minute);
  expect((await failureOf(bob.call("execProject", { lab, action: "stop" }))).code).toBe("operation_not_allowed");
  await pass(bench, 14 * minute);
  expect(await running(ann)).toBe(0);
  expect((await failureOf(ann.call("extendLease", extend))).message).toContain("has ended");
  for (const extend_ms of [0, -1, 1e18]) expect((await failureOf(admin.call("extendLease", { lab, extend_ms }))).code).toBe("bad_request");
  await bench.service.close();
});

it("a change that fails keeps the lease and the grants that were set meanwhile", async () => {
  const bench = createBench();
  const ann = await bench.login("ann");
  await ann.call("deployProject", { yaml: leased("1h") });
  bench.step = async () => {
    bench.step = () => {};
    await ann.call("extendLease", { lab, extend_ms: 3 * hour });
    await ann.call("setLabGrants", { lab, grants: [{ user: "bob", right: "view" }] });
    throw new Failure("host_error", "the step breaks");
  };
  await failureOf(ann.call("reconcileProject", { lab, yaml: leased("5m").replace("pair\n", "pair\ndescription: new\n") }));
  expect((await ann.call("getProjectStatus", { lab })).lease).toMatchObject({ for_ms: hour, reason: "time" });
  await pass(bench, 3 * hour);
  expect(await running(ann)).toBe(2);
  expect((await ann.get("getLabGrants", {}, { lab })).grants).toHaveLength(1);
  await bench.service.close();
});

it("a lease of an intent that was only stored begins with the next apply", async () => {
  const bench = createBench();
  const ann = await bench.login("ann");
  await ann.call("deployProject", { yaml: pair });
  await ann.call("editProject", { lab, intent: { yaml: leased("1h"), files: {} } });
  expect((await ann.call("getProjectStatus", { lab })).lease).toBeUndefined();
  await ann.call("reconcileProject", { lab });
  expect((await ann.call("getProjectStatus", { lab })).lease).toMatchObject({ for_ms: hour });
  await bench.service.close();
});
