import { afterEach, expect, test, vi } from "vitest";
import { Failure } from "../../contract/errors.ts";
import { readIntent } from "../../intent/read/read.ts";
import { currentCall } from "../common/current-call.ts";
import { type PoolOptions, WorkPool } from "./pool.ts";
import { Work } from "./work.ts";

const pools: (WorkPool | Work)[] = [];
function pool(options: PoolOptions = {}): WorkPool {
  const made = new WorkPool(options);
  pools.push(made);
  return made;
}
afterEach(async () => {
  for (const each of pools.splice(0)) await each.close();
});

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "no failure",
    (error: unknown) => error,
  );

/** A ring, large enough for a thread. */
function ring(count: number): string {
  const nodes = Array.from({ length: count }, (_, at) => `  n${at}: {template: frr, env: {A: "${at}"}}`);
  const links = Array.from({ length: count }, (_, at) => `  - ["n${at}:eth1", "n${(at + 1) % count}:eth2"]`);
  return `name: ring\nnodes:\n${nodes.join("\n")}\nlinks:\n${links.join("\n")}\n`;
}

/** Seconds of work. */
const endless = `name: a\nnodes: {${Array.from({ length: 160_000 }, (_, at) => `n${at}: {x: 1}`).join(",")}}`;

test("a plan of few nodes with large texts is computed in a thread", async () => {
  const desired = readIntent(`name: a\nnodes: {a: {template: frr, startup-config: f}, b: {template: frr, startup-config: f}}\n`, {
    f: "!\n".repeat(300_000),
  }).lab!;
  const work = new Work();
  await work.close();
  const ids = { nodes: {}, networks: {}, links: {} };
  const input = { desired, observed: null, rules: {} as never, prune: false, replace: false };
  expect(await failureOf(work.plan({ input, ids, direction: "to_host", files: {} }))).toMatchObject({ code: "shutting_down" });
});

test("a large intent is read in a thread as it is read here", async () => {
  const work = new Work();
  pools.push(work);
  const yaml = ring(1000);
  expect(await work.read(yaml, {})).toEqual({ ...readIntent(yaml), shown: "" });
  const wrong = yaml.replace("n7:eth1", "n7000000:eth1");
  const { lab, diagnostics, shown } = await work.read(wrong, {});
  expect([lab, diagnostics]).toEqual([undefined, readIntent(wrong).diagnostics]);
  expect(shown).toContain("n7000000");
});

test("timers run while a thread works", async () => {
  let ticks = 0;
  const timer = setInterval(() => ticks++, 5);
  const { diagnostics } = await pool().run("readIntent", endless.length, endless, {});
  clearInterval(timer);
  expect(diagnostics.length).toBeGreaterThan(0);
  expect(ticks).toBeGreaterThan(5);
});

test("a task that uses too much time or memory fails with invalid_intent, and the next task is served", async () => {
  const short = pool({ timeoutMs: 100, threads: 1 });
  const both = [short.run("readIntent", 1, endless, {}), short.run("readIntent", 1, endless, {})];
  for (const each of both) {
    expect(await failureOf(each)).toMatchObject({ code: "invalid_intent", data: { diagnostics: [{ code: "too_large" }] } });
  }
  const lean = pool({ heapMib: 16, threads: 1 });
  expect(await failureOf(lean.run("readIntent", 1, endless, {}))).toMatchObject({
    code: "invalid_intent",
    message: expect.stringContaining("memory"),
  });
  expect((await lean.run("readIntent", 1, "name: a\nnodes: {}\n", {})).lab?.name).toBe("a");
});

test("a failure crosses threads with its code and data; the thread goes on", async () => {
  const one = pool({ threads: 1 });
  const lab = readIntent("name: a\nnodes: {b: {template: frr}}\n").lab!;
  const failure = await failureOf(one.run("editIntent", 1, "name: [", {}, lab));
  expect(failure).toBeInstanceOf(Failure);
  expect(failure).toMatchObject({ code: "invalid_intent", data: { diagnostics: [{ severity: "error" }] } });
  expect((await one.run("editIntent", 1, "name: x\n", {}, lab)).yaml).toContain("template: frr");
});

test("too many that wait are refused, by number and by weight", async () => {
  const few = pool({ threads: 1, maxWaiting: 2, maxWeight: 100 });
  const yaml = ring(300);
  const taken = [few.run("readIntent", 500, yaml, {}), few.run("readIntent", 60, yaml, {})];
  expect(await failureOf(few.run("readIntent", 60, yaml, {}))).toMatchObject({ code: "rate_limited", retryAfter: 5 });
  taken.push(few.run("readIntent", 1, yaml, {}));
  expect(await failureOf(few.run("readIntent", 1, yaml, {}))).toMatchObject({ code: "rate_limited" });
  expect((await Promise.all(taken)).map(({ lab }) => lab?.nodes.length)).toEqual([300, 300, 300]);
});

test("closing the pool fails running and waiting tasks", async () => {
  const one = pool({ threads: 1 });
  const both = [failureOf(one.run("readIntent", 1, endless, {})), failureOf(one.run("readIntent", 1, endless, {}))];
  await one.close();
  for (const each of await Promise.all(both)) expect(each).toMatchObject({ code: "shutting_down" });
  expect(await failureOf(one.run("readIntent", 1, "name: a", {}))).toMatchObject({ code: "shutting_down" });
});

test("a thread that is kept ready stays without work; others end", async () => {
  const two = pool({ threads: 2, idleMs: 10 });
  two.keepReady();
  expect(two.size).toBe(1);
  const both = [two.run("readIntent", 1, "name: a\nnodes: {}\n", {}), two.run("readIntent", 1, "name: b\nnodes: {}\n", {})];
  expect(two.size).toBe(2);
  expect((await Promise.all(both)).map(({ lab }) => lab?.name)).toEqual(["a", "b"]);
  await vi.waitFor(() => expect(two.size).toBe(1));
  expect((await two.run("readIntent", 1, "name: c\nnodes: {}\n", {})).lab?.name).toBe("c");
  expect(two.size).toBe(1);
});

test("one user's work, however much, delays another user's by one task at most, and does not keep it from waiting", async () => {
  const two = pool({ threads: 2, maxWaiting: 8 });
  let over = 0;
  const bobs = Array.from({ length: 5 }, () =>
    currentCall.run({ user: "bob" }, () => two.run("readIntent", 1, endless, {})).then(() => over++),
  );
  expect(await currentCall.run({ user: "bob" }, () => failureOf(two.run("readIntent", 1, endless, {})))).toMatchObject({
    code: "rate_limited",
  });
  const { lab } = await currentCall.run({ user: "ann" }, () => two.run("readIntent", 1, "name: a\nnodes: {}\n", {}));
  expect([lab?.name, over]).toEqual(["a", expect.toSatisfy((count: number) => count <= 1)]);
  const ended = Promise.allSettled(bobs);
  await two.close();
  await ended;

  const one = pool({ threads: 1 });
  const order: string[] = [];
  const small = (user: string) => currentCall.run({ user }, () => one.run("readIntent", 1, ring(100), {})).then(() => order.push(user));
  await Promise.all(["bob", "bob", "bob", "ann"].map(small));
  expect(order.indexOf("ann")).toBeLessThan(3);
});
