import { afterEach, describe, expect, test } from "vitest";
import type { ReconcileData } from "../contract/schemas/plan.ts";
import { type Bench, createBench, failureOf, listOf, pair, three } from "./service.fixture.ts";

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
      expect((await failureOf(stale)).code).toBe(identity === undefined ? "bad_request" : "plan_stale");
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
