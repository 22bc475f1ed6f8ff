import { afterEach, describe, expect, test } from "vitest";
import { Failure } from "../../contract/errors.ts";
import type { ServiceOptions } from "../create-service.ts";
import { type Bench, createBench, failureOf, listOf, pair, three, until } from "../service.fixture.ts";
import { sqliteStore } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";

const benches: Bench[] = [];
function bench(options?: Partial<ServiceOptions>): Bench {
  const made = createBench(options);
  benches.push(made);
  return made;
}
afterEach(async () => {
  for (const { service, host } of benches.splice(0)) {
    await service.close();
    await host.close();
  }
});

/** A host whose steps wait until they are let go. */
function held(made: Bench, which: string): () => void {
  let release = () => {};
  const gate = new Promise<void>((settle) => {
    release = settle;
  });
  made.step = (_lab, { step }) => (step.do === which ? gate : undefined);
  return release;
}

const key = (idempotencyKey: string) => ({ idempotencyKey });
const day = 24 * 3_600_000;

describe("an Idempotency-Key", () => {
  test("makes a change that is sent again answer as the first, also after it has ended", async () => {
    const made = bench();
    const ann = await made.login();
    const first = await ann.call("deployProject", { yaml: pair }, key("one"));
    expect(await ann.call("deployProject", { yaml: pair }, key("one"))).toEqual(first);
    expect((await failureOf(ann.call("deployProject", { yaml: pair }, key("two")))).code).toBe("lab_exists");
    await ann.call("destroyProject", { lab: "/pair" }, key("three"));
    expect(await ann.call("destroyProject", { lab: "/pair" }, key("three"))).toEqual({ lab: "/pair" });
    expect((await failureOf(ann.call("destroyProject", { lab: "/pair" }))).code).toBe("lab_not_found");
  });

  test("answers the whole intent again, also after a restart, which the job itself does not keep", async () => {
    const made = bench();
    const ann = await made.login();
    const yaml = pair.replace("r1: {template: frr}", "r1: {template: frr, env: {TOKEN: hush}}");
    await ann.call("deployProject", { yaml });
    const pull = { lab: "/pair", direction: "from_host" };
    const first = (await ann.call("reconcileProject", pull, key("pull"))) as { readonly yaml?: string };
    expect(first.yaml).toContain("hush");
    const copy = await ann.call("importProject", { lab: "/pair" }, key("copy"));
    const wrong = { yaml: yaml.replace("template: frr, env", "template: none-such, env"), replace: true };
    const failed = await failureOf(ann.call("deployProject", wrong, key("wrong")));
    expect([failed.code, failed.message]).toEqual(["invalid_intent", expect.stringContaining("hush")]);

    const next = made.restart();
    const again = await next.login();
    expect(await again.call("reconcileProject", pull, key("pull"))).toEqual(first);
    expect(await again.call("importProject", { lab: "/pair" }, key("copy"))).toEqual(copy);
    const refused = await failureOf(again.call("deployProject", wrong, key("wrong")));
    expect([refused.message, refused.data]).toEqual([failed.message, failed.data]);

    const { jobs } = await again.get("listJobs");
    for (const { job, operation } of jobs) {
      const data = await again.get("getJob", { id: job });
      expect([operation, JSON.stringify(data).includes("hush")]).toEqual([operation, false]);
      const isIntent = operation === "importProject" || operation === "reconcileProject";
      expect([operation, data.left_out]).toEqual([operation, isIntent ? ["yaml", "files"] : undefined]);
    }
    const error = jobs.find(({ status }) => status === "failed")!.error!;
    expect(error.error).toMatch(/lab\.yaml:\d+:\d+: error: node r1: .*none-such/);
  });

  test("answers the same job while it runs, and to Prefer: respond-async its id", async () => {
    const made = bench();
    const ann = await made.login();
    const release = held(made, "create-lab");
    const started = (await ann.call("deployProject", { yaml: pair }, { ...key("k"), respondAsync: true })) as { job: string };
    expect(await ann.call("deployProject", { yaml: pair }, { ...key("k"), respondAsync: true })).toEqual(started);
    const waiting = ann.call("deployProject", { yaml: pair }, key("k"));
    release();
    expect(await waiting).toMatchObject({ lab: "/pair", nodes: 2 });
    expect(await ann.get("getJob", { id: started.job })).toMatchObject({ status: "done", outcome: "finished" });
  });

  test("repeats a failure of the job, but not one from before it", async () => {
    const made = bench();
    const ann = await made.login();
    await ann.call("deployProject", { yaml: pair });
    const first = await failureOf(ann.call("deployProject", { yaml: pair }, key("k")));
    await ann.call("destroyProject", { lab: "/pair" });
    const again = await failureOf(ann.call("deployProject", { yaml: pair }, key("k")));
    expect([again.code, again.message]).toEqual([first.code, first.message]);
    expect((await failureOf(ann.call("destroyProject", { lab: "/pair" }, key("d")))).code).toBe("lab_not_found");
    await ann.call("deployProject", { yaml: pair });
    expect(await ann.call("destroyProject", { lab: "/pair" }, key("d"))).toEqual({ lab: "/pair" });
  });

  test("of another request is refused, of another user is another key, and after 24 hours is free again", async () => {
    const made = bench();
    const [ann, bob] = [await made.login(), await made.login("bob")];
    await ann.call("deployProject", { yaml: pair }, key("k"));
    for (const [id, body] of [
      ["deployProject", { yaml: three }],
      ["reconcileProject", { yaml: pair }],
    ] as const) {
      expect((await failureOf(ann.call(id, body, key("k")))).code, id).toBe("bad_request");
    }
    const other = pair.replace("name: pair", "name: bobs");
    expect(await bob.call("deployProject", { yaml: other }, key("k"))).toMatchObject({ lab: "/bobs" });
    made.time.now += day + 1;
    const late = await made.login();
    expect(await late.call("reconcileProject", { yaml: pair }, key("k"))).toMatchObject({ status: "unchanged" });
    for (const wrong of ["", "x".repeat(256), "a\u0001b", "ä"]) {
      expect((await failureOf(late.call("reconcileProject", { yaml: pair }, key(wrong)))).code).toBe("bad_request");
    }
  });

  test("holds over a restart of the service", async () => {
    const made = bench();
    const ann = await made.login();
    const first = await ann.call("deployProject", { yaml: pair }, key("k"));
    const after = await made.restart().login();
    expect(await after.call("deployProject", { yaml: pair }, key("k"))).toEqual(first);
  });
});

describe("a change always ends", () => {
  test("when the host finishes no step: host_timeout, with what is done and left", async () => {
    const made = bench({ changeStallMs: 50, changeGraceMs: 10_000 });
    const ann = await made.login();
    const release = held(made, "create-node");
    const deploy = failureOf(ann.call("deployProject", { yaml: pair }));
    setTimeout(release, 150);
    const failure = await deploy;
    expect(failure.code).toBe("host_timeout");
    expect(listOf(failure, "remaining").length).toBeGreaterThan(0);
    made.step = () => {};
    expect(await ann.call("reconcileProject", { lab: "/pair" })).toMatchObject({ status: "applied" });
  });

  test("when the host never comes back at all: the lab is free for the next change", async () => {
    const made = bench({ changeStallMs: 50, changeGraceMs: 50 });
    const ann = await made.login();
    const release = held(made, "create-node");
    expect((await failureOf(ann.call("deployProject", { yaml: pair }))).code).toBe("host_timeout");
    const { operation, last_job } = await ann.call("getProjectStatus", { lab: "/pair" });
    expect(operation).toBeUndefined();
    expect(last_job).toMatchObject({ outcome: "failed" });
    release();
  });

  test("a long change that makes progress is left alone", async () => {
    const stallMs = 2_000;
    const made = bench({ changeStallMs: stallMs, changeGraceMs: 50 });
    const ann = await made.login();
    // Each step far below the limit, all of them above it.
    let steps = 0;
    made.step = () => {
      steps++;
      return new Promise((settle) => setTimeout(settle, stallMs / 5));
    };
    expect(await ann.call("deployProject", { yaml: three })).toMatchObject({ nodes: 3 });
    expect(steps).toBeGreaterThan(5);
  });
});

describe("a full store", () => {
  /** Every write of a job's end fails while `full`. */
  function fullStore(): { full: boolean; readonly store: Store } {
    const store = sqliteStore(":memory:");
    const state = {
      full: false,
      store: {
        ...store,
        jobs: {
          ...store.jobs,
          finish: async (...given: Parameters<Store["jobs"]["finish"]>) => {
            if (state.full) throw new Failure("internal", "the file system is full: free space on it and try again");
            await store.jobs.finish(...given);
          },
        },
      },
    };
    return state;
  }

  test("does not keep a change from ending: the job shows its outcome, which is written when there is room again", async () => {
    const disk = fullStore();
    const made = bench({ store: disk.store });
    const ann = await made.login();
    disk.full = true;
    const { job } = (await ann.call("deployProject", { yaml: pair }, { respondAsync: true })) as { job: string };
    await until(async () => (await ann.get("getJob", { id: job })).status !== "running");
    expect(await ann.get("getJob", { id: job })).toMatchObject({ status: "done", outcome: "finished", result: { nodes: 2 } });
    expect((await disk.store.jobs.get(job))?.status).toBe("running");
    // The lab is free for the next change.
    expect(await ann.call("reconcileProject", { yaml: three })).toMatchObject({ status: "applied" });
    disk.full = false;
    await until(async () => (await disk.store.jobs.get(job))?.status === "done");
    expect(await disk.store.jobs.unfinished()).toEqual([]);
  });

  test("leaves unwritten ends to the next start, which ends these jobs, oldest first", async () => {
    const disk = fullStore();
    const made = bench({ store: disk.store });
    const ann = await made.login();
    disk.full = true;
    await ann.call("deployProject", { yaml: pair });
    await ann.call("reconcileProject", { yaml: three });
    expect(await disk.store.jobs.unfinished()).toHaveLength(2);
    disk.full = false;
    const next = made.restart();
    await next.service.recover();
    expect(await disk.store.jobs.unfinished()).toEqual([]);
    const again = await next.login();
    expect((await again.call("planProject", { yaml: three, prune: true })).actions).toEqual([]);
    expect((await again.call("getProjectStatus", { lab: "/pair" })).live?.nodes).toHaveLength(3);
  });
});

test("a cancelled change keeps its finished steps, and the rest can be finished later", async () => {
  const made = bench();
  const ann = await made.login();
  const release = held(made, "create-node");
  const started = (await ann.call("deployProject", { yaml: pair }, { respondAsync: true })) as { job: string };
  await until(async () => (await made.store.jobs.get(started.job))!.steps.length > 0);
  const { steps, text } = await ann.get("getJob", { id: started.job });
  await until(async () => (await ann.get("getJob", { id: started.job })).text?.startsWith("create node") === true);
  expect(text).toMatch(/^create /);
  expect(await ann.get("cancelJob", { id: started.job })).toMatchObject({ job: started.job });
  release();
  await until(async () => (await made.store.jobs.get(started.job))!.status !== "running");
  const job = await ann.get("getJob", { id: started.job });
  expect(job).toMatchObject({ status: "cancelled", outcome: "cancelled", error: { code: "cancelled" } });
  const { applied, remaining } = job.error!.data as { applied: unknown[]; remaining: unknown[] };
  expect(applied.length + remaining.length).toBe(steps);
  made.step = () => {};
  expect(await ann.call("reconcileProject", { lab: "/pair" })).toMatchObject({ status: "applied" });
  expect((await ann.call("planProject", { lab: "/pair" })).actions).toEqual([]);
});

test("a change that is refused before its first step leaves the record as it was", async () => {
  const made = bench();
  const ann = await made.login();
  made.step = () => {
    throw new Failure("host_error", "full", { data: { host: { message: "full" } } });
  };
  expect((await failureOf(ann.call("deployProject", { yaml: pair }))).code).toBe("host_error");
  expect((await ann.get("listLabs")).labs).toEqual([]);
  made.step = () => {};
  await ann.call("deployProject", { yaml: pair });
  made.step = () => {
    throw new Failure("host_error", "full", { data: { host: { message: "full" } } });
  };
  expect((await failureOf(ann.call("reconcileProject", { yaml: three }))).code).toBe("host_error");
  expect((await ann.call("planProject", { lab: "/pair" })).actions).toEqual([]);
});
