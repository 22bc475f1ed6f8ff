import { afterEach, describe, expect, test } from "vitest";
import type { ReconcileData } from "../contract/schemas/plan.ts";
import type { Host } from "../hosts/host.ts";
import { memoryHost } from "../hosts/memory/memory-host.ts";
import { type Bench, type Client, createBench, failureOf, listOf, pair, three, until, users } from "./service.fixture.ts";

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

describe("deploy", () => {
  test("creates the lab, starts its nodes, and the next plan is empty", async () => {
    const ann = await bench().login();
    const deployed = await ann.call("deployProject", { yaml: pair });
    expect(deployed).toMatchObject({ lab: "/pair", nodes: 2, links: 1, unsupported: [] });
    const status = await ann.call("getProjectStatus", { lab: "/pair" });
    expect(status).toMatchObject({ exists: true, mode: "create", name: "pair", live: { available: true, joined: true } });
    expect(status.live?.nodes?.map(({ node, status }) => [node, status])).toEqual([
      ["r1", "running"],
      ["r2", "running"],
    ]);
    for (const selector of [{ yaml: pair }, { lab: "/pair" }, { yaml: pair, state: (deployed as { state: unknown }).state }]) {
      const plan = await ann.call("planProject", selector);
      expect(plan).toMatchObject({ exists: true, applicable: true, operations: [], actions: [] });
    }
  });

  test("of an existing lab needs replace, which recreates it", async () => {
    const ann = await bench().login();
    await ann.call("deployProject", { yaml: pair });
    expect((await failureOf(ann.call("deployProject", { yaml: pair }))).code).toBe("lab_exists");
    expect((await failureOf(ann.call("deployProject", { yaml: pair, replace: false }))).code).toBe("lab_exists");
    const before = await ann.call("inspectProject", { lab: "/pair" });
    await ann.call("deployProject", { yaml: three, replace: true });
    const after = await ann.call("inspectProject", { lab: "/pair" });
    expect(after.nodes.map(({ node }) => node)).toEqual(["r1", "r2", "r3"]);
    expect(before.nodes.length).toBe(2);
  });

  test("leaves nodes with start false alone", async () => {
    const ann = await bench().login();
    await ann.call("deployProject", { yaml: pair.replace("r2: {template: frr}", "r2: {template: frr, start: false}") });
    const { live } = await ann.call("getProjectStatus", { lab: "pair" });
    expect(live?.nodes?.map(({ status }) => status)).toEqual(["running", "stopped"]);
  });

  test("of an intent that the host cannot deploy reports every problem and changes nothing", async () => {
    const { login, host, log } = bench();
    const ann = await login();
    const yaml = "name: x\nnodes: {a: {template: nope}, b: {template: neither, env: {TOKEN: hush}}}\n";
    const failure = await failureOf(ann.call("deployProject", { yaml }));
    expect(failure.code).toBe("invalid_intent");
    expect(failure.data?.["blocked"]).toHaveLength(2);
    expect(listOf(failure, "diagnostics")).toMatchObject([
      { severity: "error", code: "unknown_template", path: "/nodes/a/template", line: 2, column: 23, end_line: 2, end_column: 27 },
      { severity: "error", code: "unknown_template", path: "/nodes/b/template", line: 2 },
    ]);
    expect(log.join()).toContain("change failed");
    expect(log.join()).not.toContain("hush");
    // As compilers do, like every other problem of an intent.
    expect(failure.message).toMatch(/^ +2 \| nodes: \{a: \{template: nope\}.*\n +\| {23}\^{4}$/m);
    expect(await (await host.resume!("ann"))!.labs()).toEqual([]);
    expect((await failureOf(ann.call("deployProject", { lab: "/x" }))).code).toBe("lab_not_found");
  });

  test("that fails on the host reports finished and remaining steps, and reconcile can finish it", async () => {
    const made = bench();
    const ann = await made.login();
    const { Failure } = await import("../contract/errors.ts");
    made.step = (_lab, operation) => {
      if (operation.step.do === "create-node" && operation.key === "r2") {
        throw new Failure("host_error", "no room", { data: { host: { status: 500, code: "full", message: "no room" } } });
      }
    };
    const failure = await failureOf(ann.call("deployProject", { yaml: pair }));
    expect(failure.code).toBe("host_error");
    expect(failure.data).toMatchObject({ host: { message: "no room" }, failed: [{ op: "create", kind: "node", key: "r2" }] });
    expect(listOf(failure, "applied").length).toBeGreaterThan(0);
    expect(listOf(failure, "remaining").length).toBeGreaterThan(0);
    made.step = () => {};
    const done = await ann.call("reconcileProject", { lab: "/pair" });
    expect(done).toMatchObject({ status: "applied", fullDeploy: false });
    expect((await ann.call("inspectProject", { lab: "/pair" })).nodes.length).toBe(2);
  });
});

describe("plan and reconcile to_host", () => {
  test("plan writes nothing, and returns the requested direction", async () => {
    const made = bench();
    const ann = await made.login();
    const plan = await ann.call("planProject", { yaml: pair });
    expect(plan).toMatchObject({ lab: "/pair", exists: false, applicable: true, direction: "to_host", locked: false, lock: 0 });
    expect(plan.plan_identity).toMatch(/^[0-9a-f]{64}$/);
    expect(plan.operations?.every((operation) => !("step" in operation))).toBe(true);
    expect(made.store.labs.list()).toEqual([]);
    expect(await (await made.host.resume!("ann"))!.labs()).toEqual([]);
    for (const direction of ["auto", "both", "push", "TO_HOST"]) {
      expect((await failureOf(ann.call("planProject", { yaml: pair, direction }))).code).toBe("invalid_direction");
    }
    expect((await ann.call("planProject", { yaml: pair, direction: "" })).plan_identity).toBe(plan.plan_identity);
  });

  test("a lab that does not exist is deployed in full", async () => {
    const ann = await bench().login();
    expect(await ann.call("reconcileProject", { yaml: pair })).toMatchObject({ fullDeploy: true, status: "applied", applicable: true });
    expect(await ann.call("reconcileProject", { yaml: pair })).toMatchObject({ fullDeploy: false, status: "unchanged", applied: 0 });
  });

  test("without confirm only live-safe work is done, and the rest waits for the plan's identity", async () => {
    const ann = await bench().login();
    await ann.call("deployProject", { yaml: pair });
    // env needs a restart on this host, the new node and link do not.
    const wanted = three.replace("r1: {template: frr}", "r1: {template: frr, env: {A: b}}");
    const first = await ann.call("reconcileProject", { yaml: wanted });
    expect(first).toMatchObject({ status: "pending_stop", applicable: true });
    expect((first as ReconcileData).operations!.map(({ op, key }) => `${op} ${key}`)).toContain("stop r1");
    const inspected = await ann.call("inspectProject", { lab: "/pair" });
    expect(inspected.nodes.map(({ node, status }) => `${node} ${status}`)).toEqual(["r1 running", "r2 running", "r3 running"]);

    for (const identity of [undefined, "0".repeat(64)]) {
      const stale = ann.call("reconcileProject", {
        yaml: wanted,
        confirm: true,
        ...(identity !== undefined && { plan_identity: identity }),
      });
      expect((await failureOf(stale)).code).toBe("plan_stale");
    }
    const plan = await ann.call("planProject", { yaml: wanted });
    const done = await ann.call("reconcileProject", { yaml: wanted, confirm: true, plan_identity: plan.plan_identity! });
    expect(done).toMatchObject({ status: "applied", operations: [] });
    const { live } = await ann.call("getProjectStatus", { lab: "/pair" });
    expect(live?.nodes?.map(({ status }) => status)).toEqual(["running", "running", "running"]);
    expect((await ann.call("planProject", { yaml: wanted })).actions).toEqual([]);
  });

  test("an identity is good for its direction, its intent, and until something changes", async () => {
    const ann = await bench().login();
    await ann.call("deployProject", { yaml: pair });
    const wanted = pair.replace("r1: {template: frr}", "r1: {template: frr, env: {A: b}}");
    const fromHost = await ann.call("planProject", { yaml: wanted, direction: "from_host" });
    const toHost = await ann.call("planProject", { yaml: wanted });
    const confirm = (plan_identity: string, yaml = wanted) => ann.call("reconcileProject", { yaml, confirm: true, plan_identity });
    expect((await failureOf(confirm(fromHost.plan_identity!))).code).toBe("plan_stale");
    expect((await failureOf(confirm(toHost.plan_identity!, three))).code).toBe("plan_stale");
    const newer = await ann.call("planProject", { yaml: wanted, prune: true });
    expect((await failureOf(confirm(toHost.plan_identity!))).code).toBe("plan_stale");
    expect(newer.plan_identity).not.toBe(toHost.plan_identity);
    const again = await ann.call("planProject", { yaml: wanted });
    await ann.call("execProject", { lab: "/pair", action: "stop", node: "r1" });
    expect((await failureOf(confirm(again.plan_identity!))).code).toBe("plan_stale");
    const { live } = await ann.call("getProjectStatus", { lab: "/pair" });
    expect(live?.nodes?.find(({ node }) => node === "r2")?.status).toBe("running");
  });

  test("a look at the plan leaves the newest plan as it was", async () => {
    const ann = await bench().login();
    await ann.call("deployProject", { yaml: pair });
    const wanted = pair.replace("r1: {template: frr}", "r1: {template: frr, env: {A: b}}");
    const made = await ann.call("planProject", { yaml: wanted });
    const { plan_identity, ...seen } = await ann.call("planProject", { lab: "/pair", peek: true });
    expect(plan_identity).toBeUndefined();
    expect(seen).toMatchObject({ actions: [], applicable: true });
    const { plan_identity: _made, ...withoutIdentity } = made;
    expect(await ann.call("planProject", { yaml: wanted, peek: true })).toEqual(withoutIdentity);
    const confirmed = await ann.call("reconcileProject", { yaml: wanted, confirm: true, plan_identity: made.plan_identity! });
    expect(confirmed).toMatchObject({ status: "applied" });
  });

  test("a look at what from_host would answer records nothing, and reconcile to_host does not only look", async () => {
    const made = bench();
    const ann = await made.login();
    await ann.call("deployProject", { yaml: three });
    const plan = await ann.call("planProject", { yaml: pair, prune: true });
    made.time.now += 1_000;
    const record = async () => [(await ann.call("listLabs")).labs, (await ann.call("listJobs")).jobs?.length];
    const before = await record();
    const body = { yaml: pair, direction: "from_host" };
    const seen = await ann.call("reconcileProject", { ...body, peek: true });
    expect(seen).toMatchObject({ direction: "from_host", status: "applied", yaml: expect.stringContaining("r3:") });
    expect(await record()).toEqual(before);
    const refused = await failureOf(ann.call("reconcileProject", { yaml: pair, prune: true, peek: true }));
    expect([refused.code, await record()]).toEqual(["bad_request", before]);
    // The plan that somebody is about to confirm still counts; from_host itself ends it.
    const sent = { yaml: pair, prune: true, plan_identity: plan.plan_identity! };
    expect(await ann.call("planProject", sent)).toMatchObject({ plan_identity: plan.plan_identity });
    const taken = await ann.call("reconcileProject", body);
    const { yaml, files } = seen as ReconcileData;
    expect(taken).toMatchObject({ yaml, files });
    expect((await failureOf(ann.call("planProject", sent))).code).toBe("plan_stale");
  });

  test("extras are left alone unless prune is true", async () => {
    const ann = await bench().login();
    await ann.call("deployProject", { yaml: three });
    const kept = await ann.call("reconcileProject", { yaml: pair });
    expect(kept).toMatchObject({ skippedPrune: 2, status: "unchanged" });
    const plan = await ann.call("planProject", { yaml: pair, prune: true });
    await ann.call("reconcileProject", { yaml: pair, prune: true, confirm: true, plan_identity: plan.plan_identity! });
    expect((await ann.call("inspectProject", { lab: "/pair" })).nodes.map(({ node }) => node)).toEqual(["r1", "r2"]);
  });

  test("a blocked plan changes nothing and is no error", async () => {
    const ann = await bench().login();
    await ann.call("deployProject", { yaml: pair });
    const wanted = three.replace("r3: {template: frr}", "r3: {template: frr, image: nope}");
    const answer = await ann.call("reconcileProject", { yaml: wanted });
    expect(answer).toMatchObject({ applicable: false, applied: 0, blocked: [{ key: "r3" }] });
    expect((await ann.call("inspectProject", { lab: "/pair" })).nodes.length).toBe(2);
  });

  test("a locked lab is not changed; a lock that appears stops after the step in flight", async () => {
    const made = bench();
    const ann = await made.login();
    await ann.call("deployProject", { yaml: pair });
    const host = (await made.host.resume!("ann"))!;
    await host.setLock("/pair", true);
    const calls = [
      ann.call("reconcileProject", { yaml: three }),
      ann.call("deployProject", { yaml: three, replace: true }),
      ann.call("destroyProject", { lab: "/pair" }),
      ann.call("execProject", { lab: "/pair", action: "stop" }),
    ];
    // One after the other they would each find the lab free; at once, the later ones find it busy.
    const codes = (await Promise.all(calls.map(failureOf))).map(({ code }) => code);
    expect(codes.every((code) => code === "lab_locked" || code === "lab_busy")).toBe(true);
    for (const [id, body] of [
      ["reconcileProject", { yaml: three }],
      ["destroyProject", { lab: "/pair" }],
    ] as const) {
      expect((await failureOf(ann.call(id, body))).code).toBe("lab_locked");
    }
    expect(await ann.call("planProject", { yaml: three })).toMatchObject({ locked: true, applicable: false });
    await host.setLock("/pair", false);
    made.step = async (_lab, operation) => {
      if (operation.step.do === "create-node") await host.setLock("/pair", true);
    };
    const failure = await failureOf(ann.call("reconcileProject", { yaml: three }));
    expect(failure.code).toBe("lab_locked_mid_apply");
    expect(failure.data).toMatchObject({ applied: [{ op: "create", key: "r3" }] });
    expect(listOf(failure, "remaining").length).toBeGreaterThan(0);
  });
});

describe("reconcile from_host", () => {
  test("edits the caller's text, keeps its comments, and the plan of the answer is empty", async () => {
    const made = bench();
    const ann = await made.login();
    await ann.call("deployProject", { yaml: three });
    const back = await ann.call("reconcileProject", { yaml: pair, lab: "/pair", direction: "from_host" });
    if (!("yaml" in back)) throw new Error("no intent came back");
    expect(back.yaml).toContain("# two routers");
    expect(back.yaml).toContain("# the second");
    expect(back.yaml).toContain("r3");
    expect(back).toMatchObject({ direction: "from_host", applied: 0, manifest: expect.stringContaining("lab: /pair") });
    const { yaml, files, state, manifest } = back;
    expect((await ann.call("planProject", { yaml: yaml!, files: files!, state, manifest: manifest! })).actions).toEqual([]);
    expect((await ann.call("planProject", { lab: "/pair" })).actions).toEqual([]);
  });

  test("its plan shows the changes to the intent, and runs nothing", async () => {
    const ann = await bench().login();
    await ann.call("deployProject", { yaml: three });
    const plan = await ann.call("planProject", { yaml: pair, direction: "from_host" });
    expect(plan).toMatchObject({ direction: "from_host", operations: [], applicable: true });
    expect(plan.actions?.map(({ op, key }) => `${op} ${key}`)).toEqual(["create r3", "create r2:eth2 -- r3:eth1"]);
    expect((await failureOf(ann.call("planProject", { yaml: "name: none\nnodes: {}\n", direction: "from_host" }))).code).toBe(
      "lab_not_found",
    );
  });
});

describe("destroy", () => {
  test("removes the lab by its path alone; then it is gone for every call", async () => {
    const ann = await bench().login();
    await ann.call("deployProject", { yaml: pair });
    expect(await ann.call("destroyProject", { lab: "/pair" })).toEqual({ lab: "/pair" });
    for (const id of ["destroyProject", "getProjectStatus", "inspectProject", "listProjectConsoles"] as const) {
      expect((await failureOf(ann.call(id, { lab: "/pair" }))).code).toBe("lab_not_found");
    }
    expect((await ann.get("listLabs")).labs).toEqual([]);
  });

  test("wipes unless wipe is false", async () => {
    const made = bench();
    const ann = await made.login();
    const steps: string[] = [];
    made.step = (_lab, { step }) => {
      steps.push(step.do === "delete-lab" ? `delete-lab ${step.wipe}` : step.do);
    };
    await ann.call("deployProject", { yaml: pair });
    await ann.call("destroyProject", { lab: "/pair", wipe: false });
    expect(steps).toContain("delete-lab false");
    expect(steps).not.toContain("wipe");
    await ann.call("deployProject", { yaml: pair });
    await ann.call("destroyProject", { lab: "/pair" });
    expect(steps).toContain("delete-lab true");
  });
});

describe("exec", () => {
  test("counts what really happened", async () => {
    const ann = await bench().login();
    await ann.call("deployProject", { yaml: three });
    const zero = {
      requested: 0,
      started: 0,
      already_running: 0,
      already_starting: 0,
      stopped: 0,
      already_stopped: 0,
      wiped: 0,
      failed: 0,
      invalid: 0,
    };
    const good = (...nodes: readonly string[]) => nodes.map((node) => ({ node, ok: true }));
    const all = good("r1", "r2", "r3");
    const started = await ann.call("execProject", { lab: "/pair", action: "start" });
    expect(started).toEqual({ ...zero, requested: 3, already_running: 3, nodes: all });
    expect(await ann.call("execProject", { lab: "/pair", action: "stop", node: "r1", stopmode: 0 })).toEqual({
      ...zero,
      requested: 1,
      stopped: 1,
      nodes: good("r1"),
    });
    expect(await ann.call("execProject", { lab: "/pair", action: "stop", node: "" })).toEqual({
      ...zero,
      requested: 3,
      stopped: 2,
      already_stopped: 1,
      nodes: all,
    });
    expect(await ann.call("execProject", { lab: "/pair", action: "start", nodes: ["r1", "r2", "nope"] })).toEqual({
      ...zero,
      requested: 3,
      started: 2,
      invalid: 1,
      nodes: [...good("r1", "r2"), { node: "nope", ok: false, message: "/pair has no node nope" }],
    });
    // A list is exact, also if it is empty.
    const none = { ...zero, nodes: [] };
    for (const action of ["stop", "wipe"]) expect(await ann.call("execProject", { lab: "/pair", action, nodes: [] })).toEqual(none);
    expect(await ann.call("execProject", { lab: "/pair", action: "wipe" })).toEqual({ ...zero, requested: 3, wiped: 3, nodes: all });
    const { live } = await ann.call("getProjectStatus", { lab: "/pair" });
    expect(live?.nodes?.every(({ status }) => status === "stopped")).toBe(true);
  });

  test("one node that fails does not keep the others from starting", async () => {
    const made = bench();
    const ann = await made.login();
    await ann.call("deployProject", { yaml: three });
    await ann.call("execProject", { lab: "/pair", action: "stop" });
    const { Failure } = await import("../contract/errors.ts");
    made.step = (_lab, { key }) => {
      if (key === "r2") throw new Failure("host_error", "broken");
    };
    expect(await ann.call("execProject", { lab: "/pair", action: "start" })).toMatchObject({
      requested: 3,
      started: 2,
      failed: 1,
      nodes: [
        { node: "r1", ok: true },
        { node: "r2", ok: false, message: expect.stringContaining("broken") },
        { node: "r3", ok: true },
      ],
    });
    // It was to run, and does not.
    const { operations } = await ann.call("planProject", { lab: "/pair", yaml: three });
    expect((operations ?? []).map(({ op, key }) => [op, key])).toEqual([["start", "r2"]]);
  });

  test("a wrong action, stop mode or node is refused", async () => {
    const ann = await bench().login();
    await ann.call("deployProject", { yaml: pair });
    const code = async (body: { action: string; stopmode?: number; node?: string }) =>
      (await failureOf(ann.call("execProject", { lab: "/pair", ...body }))).code;
    expect(await code({ action: "reboot" })).toBe("invalid_action");
    expect(await code({ action: "stop", stopmode: 4 })).toBe("invalid_action");
    expect(await code({ action: "stop", node: "nope" })).toBe("node_not_found");
  });
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
    await until(() => made.store.jobs.unfinished()[0]?.steps.some(({ do: what }) => what === "start") === true);
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
    await until(() => made.store.jobs.get(started.job)!.steps.length > 0);
    expect((await failureOf(bob.get("getJob", { id: started.job }))).code).toBe("job_not_found");
    await ann.get("cancelJob", { id: started.job });
    release();
    await until(() => made.store.jobs.get(started.job)!.status !== "running");
    const job = await ann.get("getJob", { id: started.job });
    expect(job).toMatchObject({ status: "cancelled", error: { code: "cancelled" } });
    expect(job.step).toBeLessThan(job.steps);
    expect((await failureOf(ann.get("cancelJob", { id: started.job }))).code).toBe("operation_not_allowed");
  });
});

describe("whose lab it is", () => {
  test("another user's lab is not found; an admin sees and changes it; a viewer reads it", async () => {
    const made = bench();
    const [ann, bob, admin, eve] = await Promise.all(["ann", "bob", "admin", "eve"].map((user) => made.login(user)));
    await ann!.call("deployProject", { yaml: pair });
    for (const id of [
      "planProject",
      "reconcileProject",
      "destroyProject",
      "getProjectStatus",
      "inspectProject",
      "deployProject",
    ] as const) {
      expect((await failureOf(bob!.call(id, { yaml: pair }))).code, id).toBe("lab_not_found");
    }
    expect((await admin!.call("inspectProject", { lab: "/pair" })).nodes.length).toBe(2);
    expect((await admin!.get("listLabs")).labs.map(({ lab, owner }) => [lab, owner])).toEqual([["/pair", "ann"]]);
    for (const id of ["reconcileProject", "deployProject", "destroyProject"] as const) {
      expect((await failureOf(eve!.call(id, { yaml: pair }))).code, id).toBe("operation_not_allowed");
    }
    await admin!.call("destroyProject", { lab: "/pair" });
  });

  test("a deploy to a taken path is refused without the owner's name, also while another user creates the lab", async () => {
    const memory = memoryHost({ users });
    let hold: ((user: string) => Promise<void> | undefined) | undefined;
    // The host read of a plan: a change that waits for it has no record yet.
    const host: Host = {
      ...memory,
      login: async (name, password) => {
        const session = await memory.login(name, password);
        return { ...session, rules: () => (hold?.(name) ?? Promise.resolve()).then(() => session.rules()) };
      },
    };
    const made = bench({ host });
    const [ann, bob] = [await made.login(), await made.login("bob")];
    let release = () => {};
    const gate = new Promise<void>((settle) => {
      release = settle;
    });
    let waits = false;
    hold = (user) => {
      if (user !== "ann" || made.store.jobs.unfinished().length === 0) return undefined;
      waits = true;
      return gate;
    };
    const deploying = ann.call("deployProject", { yaml: pair });
    await until(() => waits);
    expect(made.store.labs.get("/pair")).toBeUndefined();
    const refusals = async (...ids: readonly ("planProject" | "deployProject" | "reconcileProject")[]) => {
      for (const id of ids) {
        const { code, message, data } = await failureOf(bob.call(id, { yaml: pair }));
        expect([id, code, data]).toEqual([id, "lab_not_found", { path: "/pair" }]);
        expect([message.includes("choose another name"), message.includes("ann")]).toEqual([true, false]);
      }
    };
    await refusals("deployProject", "reconcileProject");
    release();
    await deploying;
    await refusals("planProject", "deployProject", "reconcileProject");
    await ann.call("deployProject", { yaml: pair, lab: "/source" });
    await bob.call("deployProject", { yaml: pair, lab: "/bobs" });
    const manifest = "version: 1\nmode: import\nlab: /source\n";
    expect((await failureOf(bob.call("importProject", { lab: "/bobs", manifest }))).message).toContain("choose another name");
  });

  test("a lab without a record, on a host with labs of its own, is read and not changed", async () => {
    const made = bench({ ownLabs: true });
    const ann = await made.login();
    await ann.call("deployProject", { yaml: pair });
    const { state } = (await ann.call("reconcileProject", { yaml: pair })) as { state: unknown };
    made.store.labs.delete("/pair");
    expect(await ann.call("inspectProject", { lab: "/pair" })).toMatchObject({ mode: "load" });
    expect((await ann.get("listLabs")).labs).toMatchObject([{ lab: "/pair", mode: "load", exists: true }]);
    expect((await failureOf(ann.call("deployProject", { yaml: pair }))).code).toBe("lab_exists");
    for (const call of [
      ann.call("destroyProject", { lab: "/pair" }),
      ann.call("execProject", { lab: "/pair", action: "stop" }),
      ann.call("reconcileProject", { yaml: three }),
    ]) {
      expect((await failureOf(call)).code).toBe("operation_not_allowed");
    }
    expect(await ann.call("reconcileProject", { yaml: three, state })).toMatchObject({ status: "applied" });
    await ann.call("destroyProject", { lab: "/pair" });
  });
});

describe("addressing", () => {
  test("wrong paths, files, states and manifests are bad requests, each with its position", async () => {
    const ann = await bench().login();
    const deployed = (await ann.call("deployProject", { yaml: pair })) as { state: Record<string, unknown> };
    const place = async (body: object) => {
      const failure = await failureOf(ann.call("getProjectStatus", body));
      return [failure.code, (failure.data?.["problems"] as { path: string }[] | undefined)?.[0]?.path];
    };
    expect(await place({})).toEqual(["bad_request", "/lab"]);
    expect(await place({ lab: "" })).toEqual(["bad_request", "/lab"]);
    expect(await place({ lab: "/a/../b" })).toEqual(["bad_request", "/lab"]);
    expect(await place({ lab: "/pair", files: { "../x": "" } })).toEqual(["bad_request", "/files/..~1x"]);
    expect(await place({ lab: "/pair", files: { a: "", "./a": "" } })).toEqual(["bad_request", "/files/a"]);
    expect(await place({ lab: "/pair", manifest: "version: 2" })).toEqual(["bad_request", "/manifest"]);
    expect(await place({ lab: "/pair", state: { ...deployed.state, version: 2 } })).toEqual(["bad_request", "/state/version"]);
    expect(await place({ lab: "/pair", state: { ...deployed.state, host: { kind: "eve", url: "x" } } })).toEqual([
      "bad_request",
      "/state/host",
    ]);
    expect(await place({ lab: "/other", state: deployed.state })).toEqual(["bad_request", "/state/lab"]);
    expect(await place({ lab: "/pair", dir: "/tmp" })).toEqual(["field_not_allowed", undefined]);
    expect(await ann.call("getProjectStatus", { lab: "/pair", dir: "", out: "", state: null })).toMatchObject({ exists: true });
  });

  test("a manifest names the lab and its mode", async () => {
    const ann = await bench().login();
    await ann.call("deployProject", { yaml: pair, manifest: "version: 1\nlab: /courses/one\n" });
    expect(await ann.call("getProjectStatus", { manifest: "version: 1\nlab: /courses/one\n" })).toMatchObject({
      lab: "/courses/one",
      exists: true,
    });
    const load = ann.call("deployProject", { yaml: pair, lab: "/two", manifest: "version: 1\nmode: load\n" });
    expect((await failureOf(load)).code).toBe("operation_not_allowed");
  });

  test("an invalid intent is refused with every problem and its position", async () => {
    const ann = await bench().login();
    const failure = await failureOf(
      ann.call("validateProject", { yaml: 'name: x\nnodes: {a: {tmplate: frr}}\nlinks: [["a:eth0", "zz:eth0"]]\n' }),
    );
    expect(failure.code).toBe("invalid_intent");
    expect(listOf(failure, "diagnostics").length).toBeGreaterThan(1);
    expect(await ann.call("validateProject", { yaml: pair })).toEqual({ status: "valid", warnings: [] });
  });
});
