import type { TSchema } from "typebox";
import { Check, Errors } from "typebox/value";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type ErrorCode, errors, Failure } from "../../src/contract/errors.ts";
import { commonErrors, type OperationId, type OperationRow, operations } from "../../src/contract/operations.ts";
import { JobStarted } from "../../src/contract/schemas/jobs.ts";
import { dataSchemas } from "../../src/contract/schemas/table.ts";
import type { Operation, Step } from "../../src/engine/model/plan.ts";
import { memoryHost } from "../../src/hosts/memory/memory-host.ts";
import type { Answer, RawClient } from "./raw-client.ts";
import { type Served, serve, users } from "./served.ts";

const yaml = `name: wire
nodes:
  r1: {template: frr}
  h1: {template: linux}
links:
  - ["r1:eth0", "h1:eth0"]
`;
const more = yaml.replace("links:", "  h2: {template: linux}\nlinks:");
const restart = yaml.replace("r1: {template: frr}", "r1: {template: frr, env: {A: b}}");
const lab = "/wire";
let served: Served;
const host = memoryHost({ users, beforeStep: (_lab, operation) => hook(operation) });
let hook: (operation: Operation) => void | Promise<void> = () => {};
let steps: Step[] = [];
const clients = new Map<string, RawClient>();

/** The real server and service over real TLS, on the memory host, with one client for each user. */
beforeAll(async () => {
  served = await serve({ host });
  for (const { name } of users) clients.set(name, await served.signIn(name));
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
});
beforeEach(() => {
  steps = [];
  hook = ({ step }) => {
    steps.push(step);
  };
});
afterEach(async () => {
  hook = () => {};
  const admin = (await host.resume!("admin"))!;
  for (const path of await admin.labs()) await admin.setLock(path, false);
  for (const { lab: path } of (await send("listLabs", undefined, "admin")).json.data.labs)
    await send("destroyProject", { lab: path }, "admin");
});

/** Sends a request and holds its answer against the row: envelope, documented codes with their status, data of its schema. */
async function send(id: OperationId, body?: unknown, as = "ann", headers: Record<string, string> = {}, path?: string): Promise<Answer> {
  const row: OperationRow = operations[id];
  const sent = { headers, ...(row.body !== "none" && { body: JSON.stringify(body ?? {}) }) };
  const answer = await clients.get(as)!.call(row.method, path ?? row.path, sent);
  expect(answer.headers["x-request-id"]).toMatch(/^[\w-]+$/);
  if (answer.status === 200) {
    expect(answer.json.ok).toBe(true);
    const started = row.change && "job" in answer.json.data && Object.keys(answer.json.data).length === 1;
    const schema: TSchema = started ? JobStarted : dataSchemas[id];
    if (!Check(schema, answer.json.data)) {
      expect([...Errors(schema, answer.json.data)].map((each) => `${id}${each.instancePath} ${each.message}`)).toEqual([]);
    }
    return answer;
  }
  const { ok, error, code } = answer.json as { ok: boolean; error: string; code: ErrorCode };
  expect([ok, typeof error]).toEqual([false, "string"]);
  expect([id, ...commonErrors, ...row.errors]).toContain(code);
  expect(answer.status).toBe(errors[code].status);
  return answer;
}

const outcome = ({ status, json }: Answer) => (status === 200 ? 200 : `${status} ${json.code}`);
const deploy = (text = yaml) => send("deployProject", { yaml: text });
const broken = () => {
  throw new Failure("host_error", "no room", { data: { host: { status: 500, code: "full", message: "no room" } } });
};

describe("a field that is left out is another thing than one that is null, false, 0 or empty", () => {
  test.each<[OperationId, string]>([
    ["planProject", "prune"],
    ["planProject", "peek"],
    ["destroyProject", "wipe"],
    ["deployProject", "replace"],
    ["inspectProject", "refresh"],
    ["execProject", "stopmode"],
    ["reconcileProject", "plan_identity"],
    ["reconcileProject", "confirm"],
    ["reconcileProject", "direction"],
    ["execProject", "node"],
  ])("%s: %s is refused as null, before anything is done", async (id, field) => {
    await deploy();
    steps = [];
    const answer = await send(id, { lab, yaml, ...(id === "execProject" && { action: "stop" }), [field]: null });
    expect(outcome(answer)).toBe("400 bad_request");
    expect(answer.json.data.problems).toContainEqual({ path: `/${field}`, message: expect.any(String) });
    expect(steps).toEqual([]);
  });

  test("prune: absent and false leave extras alone, true deletes them", async () => {
    await deploy(more);
    const plan = async (extra: object) => (await send("planProject", { yaml, ...extra })).json.data;
    expect(await plan({})).toMatchObject({ actions: [], summary: { skipped_prune: 1 } });
    expect((await plan({ prune: false })).actions).toEqual([]);
    const pruned = await plan({ prune: true });
    expect(pruned).toMatchObject({ actions: [{ op: "delete", key: "h2", prune: true }], summary: { skipped_prune: 0 } });
    const body = { yaml, prune: true, confirm: true, plan_identity: pruned.plan_identity };
    expect((await send("reconcileProject", body)).json.data).toMatchObject({ status: "applied", skippedPrune: 0 });
  });

  test.each<[string, object, boolean]>([
    ["absent", {}, true],
    ["true", { wipe: true }, true],
    ["false", { wipe: false }, false],
  ])("wipe on destroy: %s", async (_name, extra, wipes) => {
    await deploy();
    expect((await send("destroyProject", { lab, ...extra })).json.data).toEqual({ lab });
    expect(steps.filter((step) => step.do === "delete-lab")).toEqual([{ do: "delete-lab", wipe: wipes }]);
  });

  test("replace: absent and false are lab_exists, true recreates the lab", async () => {
    await deploy();
    for (const extra of [{}, { replace: false }]) expect(outcome(await send("deployProject", { yaml, ...extra }))).toBe("409 lab_exists");
    steps = [];
    expect((await send("deployProject", { yaml, replace: true })).json.data).toMatchObject({ lab, nodes: 2, links: 1 });
    expect(steps.map((step) => step.do)).toEqual(expect.arrayContaining(["stop", "delete-lab", "create-lab", "start"]));
    const order = ["stop", "wipe", "delete-lab", "create-lab", "start"] as const;
    const at = order.map((word) => steps.findIndex((step) => step.do === word));
    expect(at).toEqual([...at].sort((a, b) => a - b));
    expect(steps).toContainEqual({ do: "delete-lab", wipe: true });
  });

  test("refresh: absent and false may be cached, true is not", async () => {
    await deploy();
    const cached = async (extra: object) => (await send("inspectProject", { lab, ...extra })).json.data.cached;
    expect(await cached({})).toBe(false);
    expect(await cached({})).toBe(true);
    expect(await cached({ refresh: false })).toBe(true);
    expect(await cached({ refresh: true })).toBe(false);
  });

  test.each<[string, object, number]>([
    ["absent", {}, 3],
    ["0", { stopmode: 0 }, 0],
    ["1", { stopmode: 1 }, 1],
    ["2", { stopmode: 2 }, 2],
    ["3", { stopmode: 3 }, 3],
  ])("stopmode: %s", async (_name, extra, mode) => {
    await deploy();
    steps = [];
    await send("execProject", { lab, action: "stop", node: "r1", ...extra });
    expect(steps).toEqual([{ do: "stop", node: "r1", mode }]);
  });

  test("stopmode: a number that is no mode is invalid_action, a text is bad_request", async () => {
    await deploy();
    const code = async (stopmode: unknown) => outcome(await send("execProject", { lab, action: "stop", stopmode }));
    expect(await code(-1)).toBe("400 invalid_action");
    expect(await code(4)).toBe("400 invalid_action");
    expect(await code("0")).toBe("400 bad_request");
  });

  test("node: absent and empty are all nodes, a name is that one", async () => {
    await deploy();
    const requested = async (extra: object) => (await send("execProject", { lab, action: "start", ...extra })).json.data.requested;
    expect(await requested({})).toBe(2);
    expect(await requested({ node: "" })).toBe(2);
    expect(await requested({ node: "r1" })).toBe(1);
    expect(outcome(await send("execProject", { lab, action: "start", node: "zz" }))).toBe("404 node_not_found");
  });

  test("plan_identity: absent plans again, empty is a token that matches nothing", async () => {
    await deploy();
    expect(outcome(await send("reconcileProject", { yaml: more }))).toBe(200);
    expect(outcome(await send("reconcileProject", { yaml: more, plan_identity: "" }))).toBe("409 plan_stale");
    expect(outcome(await send("planProject", { yaml: more, plan_identity: "" }))).toBe("409 plan_stale");
  });

  test("confirm: absent and false stop nothing, true needs the identity", async () => {
    await deploy();
    for (const extra of [{}, { confirm: false }]) {
      steps = [];
      expect((await send("reconcileProject", { yaml: restart, ...extra })).json.data.status).toBe("pending_stop");
      expect(steps.filter((step) => step.do === "stop")).toEqual([]);
    }
    const unplanned = await send("reconcileProject", { yaml: restart, confirm: true });
    expect(outcome(unplanned)).toBe("400 bad_request");
    expect(unplanned.json.data.problems).toEqual([
      { path: "/plan_identity", message: expect.stringContaining("call plan with this intent") },
    ]);
    const { plan_identity } = (await send("planProject", { yaml: restart })).json.data;
    expect((await send("reconcileProject", { yaml: restart, confirm: true, plan_identity })).json.data.status).toBe("applied");
  });

  test("confirm on from_host authorises nothing: the host is only read, with or without it; an identity is of its own direction", async () => {
    await deploy();
    const toHost = (await send("planProject", { yaml: restart })).json.data.plan_identity;
    const pull = { yaml: restart, direction: "from_host" };
    const fromHost = (await send("planProject", pull)).json.data.plan_identity;
    steps = [];
    expect(outcome(await send("reconcileProject", { ...pull, confirm: true, plan_identity: toHost }))).toBe("409 plan_stale");
    expect((await send("reconcileProject", { ...pull, confirm: true, plan_identity: fromHost })).json.data).toMatchObject({
      direction: "from_host",
      applied: 0,
      yaml,
    });
    for (const extra of [{}, { confirm: false }, { confirm: true }, { confirm: true, prune: true }]) {
      expect((await send("reconcileProject", { yaml: more, direction: "from_host", ...extra })).json.data.operations).toEqual([]);
    }
    expect(steps).toEqual([]);
  });

  test("from_host answers what the host keeps, not what only runs: a live quality, a stopped node", async () => {
    await deploy();
    const endpoints = ["r1:eth0", "h1:eth0"];
    await send("execProject", { lab, action: "stop", node: "h1" });
    await send("applyLinkQuality", { lab, endpoints, a: { delay: 5 } });
    const pull = async () => (await send("reconcileProject", { lab, direction: "from_host" })).json.data;
    expect(await pull()).toMatchObject({ status: "unchanged", yaml });
    expect((await send("planProject", { lab, direction: "from_host" })).json.data.actions).toEqual([]);
    await send("applyLinkQuality", { lab, endpoints, a: { delay: 5 }, save: true });
    expect((await pull()).yaml).toMatch(/delay: 5/);
  });

  test("direction: absent, empty and to_host are one; anything else is invalid", async () => {
    await deploy();
    for (const extra of [{}, { direction: "" }, { direction: "to_host" }]) {
      for (const id of ["planProject", "reconcileProject"] as const) {
        expect((await send(id, { yaml, ...extra })).json.data.direction).toBe("to_host");
      }
    }
    expect((await send("reconcileProject", { yaml, direction: "from_host" })).json.data).toMatchObject({ direction: "from_host", yaml });
    for (const direction of ["auto", "both", "push", "pull", "TO_HOST", " "]) {
      for (const id of ["planProject", "reconcileProject"] as const) {
        expect(outcome(await send(id, { yaml, direction }))).toBe("400 invalid_direction");
      }
    }
  });

  test("state and source take any JSON; a null state is none", async () => {
    await deploy();
    for (const source of [null, 0, "", false, [], {}]) {
      expect(outcome(await send("planProject", { yaml, state: null, source }))).toBe(200);
    }
    for (const state of [0, "", false, [], {}]) expect(outcome(await send("planProject", { yaml, state }))).toBe("400 bad_request");
  });
});

describe("import", () => {
  test("answers the working copy, its intent and where it came from", async () => {
    await deploy();
    const { data } = (await send("importProject", { lab })).json;
    expect(data).toMatchObject({ mode: "import", source_lab: lab, managed_lab: "/wire-import", lab: "/wire-import", name: "wire-import" });
    expect(Object.keys(data).sort()).toEqual(
      ["files", "lab", "managed_lab", "manifest", "mode", "name", "source", "source_lab", "state", "yaml"].sort(),
    );
    expect((await send("planProject", { yaml: data.yaml, files: data.files, state: data.state })).json.data.actions).toEqual([]);
  });

  test.each<[string, () => Promise<unknown>, object, string, string]>([
    ["no lab", async () => {}, {}, "400 bad_request", "ann"],
    ["a lab that is not there", async () => {}, { lab: "/none" }, "404 lab_not_found", "ann"],
    ["another's lab", deploy, { lab }, "404 lab_not_found", "bob"],
    ["a viewer", deploy, { lab }, "403 operation_not_allowed", "eve"],
    ["a path that is none", async () => {}, { lab: "/../x" }, "400 bad_request", "ann"],
    ["a taken copy", deploy, { lab, manifest: "version: 1\nlab: /taken\n" }, "409 lab_exists", "ann"],
    ["a local directory", deploy, { lab, out: "here" }, "400 field_not_allowed", "ann"],
  ])("refuses %s", async (name, before, body, expected, as) => {
    await before();
    if (name === "a taken copy") await send("deployProject", { yaml, lab: "/taken" });
    expect(outcome(await send("importProject", body, as))).toBe(expected);
  });

  test("of a host that breaks lists the finished and the remaining steps", async () => {
    await deploy();
    hook = ({ step }) => (step.do === "create-link" ? broken() : undefined);
    const answer = await send("importProject", { lab });
    expect(outcome(answer)).toBe("502 host_error");
    expect(answer.json.data).toMatchObject({ host: { code: "full" }, failed: [{ kind: "link" }] });
    expect(answer.json.data.applied.length).toBeGreaterThan(0);
  });
});

describe("the public project and its edits", () => {
  test("are shaped as the contract says", async () => {
    await deploy();
    const { data } = (await send("getPublicProject", { lab })).json;
    expect(Object.keys(data).sort()).toEqual(["files", "lab", "name", "revision", "traffic_filters", "yaml"]);
    const edited = await send("editProject", { lab, section: "description", value: "x", revision: data.revision });
    expect(Object.keys(edited.json.data).sort()).toEqual(["revision", "yaml"]);
    expect(outcome(await send("editProject", { lab, section: "description", value: "y", revision: data.revision }))).toBe("409 plan_stale");
  });

  test.each<[string, object, string, string]>([
    ["an unknown section", { section: "name", value: "x" }, "400 bad_request", "ann"],
    ["no value", { section: "links" }, "400 bad_request", "ann"],
    ["a revision that is null", { section: "links", value: [], revision: null }, "400 bad_request", "ann"],
    ["content that makes no lab", { section: "links", value: [["r1:eth0", "zz:eth0"]] }, "422 invalid_intent", "ann"],
    ["another's lab", { section: "links", value: [] }, "404 lab_not_found", "bob"],
    ["a viewer", { section: "links", value: [] }, "403 operation_not_allowed", "eve"],
    ["an observed project", { section: "links", value: [], manifest: "version: 1\nmode: load\n" }, "403 operation_not_allowed", "ann"],
  ])("refuse %s", async (_name, body, expected, as) => {
    await deploy();
    expect(outcome(await send("editProject", { lab, ...body }, as))).toBe(expected);
  });

  test.each<[string, unknown, string]>([
    ["traffic_filters", [{ name: "pings", match: "icmp" }], "pings"],
    ["description", "in other words", "in other words"],
    ["texts", [{ text: "the core", x: 1, y: 2 }], "the core"],
    ["links", [["r1:eth0", "h1:eth0"], { endpoints: ["r1:eth1", "h1:eth1"], mtu: 1400 }], "mtu: 1400"],
    ["nodes", { r1: { template: "frr" }, h1: { template: "linux" }, h9: { template: "linux" } }, "h9:"],
    ["networks", { lan: { type: "bridge" } }, "lan:"],
  ])("replace the section %s, keep comments, and the next reconcile makes it so", async (section, value, written) => {
    await deploy(`# kept as it is\n${yaml}`);
    const edited = await send("editProject", { lab, section, value });
    expect(edited.json.data.yaml).toContain("# kept as it is\n");
    expect(edited.json.data.yaml).toContain(written);
    const { data } = (await send("getPublicProject", { lab, as_written: true })).json;
    expect(data).toMatchObject({ yaml: edited.json.data.yaml, revision: edited.json.data.revision });
    expect((await send("planProject", { lab })).json.data.actions.length).toBeGreaterThan(0);
    expect((await send("reconcileProject", { lab })).json.data.status).toBe("applied");
    expect((await send("planProject", { lab })).json.data.actions).toEqual([]);
  });

  test("value null takes a section away; absent is an error", async () => {
    await deploy(`description: gone soon\n${yaml}`);
    expect((await send("editProject", { lab, section: "description", value: null })).json.data.yaml).not.toContain("gone soon");
  });

  test("find a lab that changes busy", async () => {
    let release = () => {};
    const held = new Promise<void>((settle) => {
      release = settle;
    });
    await deploy();
    hook = ({ step }) => (step.do === "create-node" ? held : undefined);
    const { job } = (await send("reconcileProject", { yaml: more }, "ann", { Prefer: "respond-async" })).json.data;
    const answer = await send("editProject", { lab, section: "description", value: "x" });
    expect(outcome(answer)).toBe("409 lab_busy");
    expect(answer.headers["retry-after"]).toBe("2");
    expect(answer.json.data.operation).toMatchObject({ name: "reconcileProject", user: "ann", step: expect.any(Number) });
    release();
    await ended(job);
  });
});

const grantsPath = `${operations.getLabGrants.path}?lab=${encodeURIComponent(lab)}`;

async function ended(job: string): Promise<Record<string, unknown>> {
  const read = async () => (await send("getJob", undefined, "ann", {}, `/api/v1/jobs/${job}`)).json.data;
  await expect.poll(async () => (await read()).status).not.toBe("running");
  return read();
}

describe("grants", () => {
  test("are set, read and taken back; another's lab is not there", async () => {
    await deploy();
    const grants = [{ user: "bob", right: "view" }];
    expect((await send("setLabGrants", { lab, grants })).json.data).toEqual({ lab, owner: "ann", grants });
    expect((await send("getLabGrants", undefined, "bob", {}, grantsPath)).json.data).toEqual({ lab, owner: "ann", grants });
    expect((await send("listLabs", undefined, "bob")).json.data.labs).toMatchObject([{ lab, owner: "ann", right: "view", exists: true }]);
    expect(outcome(await send("getProjectStatus", { lab }, "bob"))).toBe(200);
    expect(outcome(await send("execProject", { lab, action: "stop" }, "bob"))).toBe("403 operation_not_allowed");
    expect(outcome(await send("setLabGrants", { lab, grants: [] }, "bob"))).toBe("403 operation_not_allowed");
    expect((await send("setLabGrants", { lab, grants: [] })).json.data.grants).toEqual([]);
    expect(outcome(await send("getLabGrants", undefined, "bob", {}, grantsPath))).toBe("404 lab_not_found");
    expect(outcome(await send("setLabGrants", { lab, grants: [] }, "bob"))).toBe("404 lab_not_found");
  });

  test.each<[unknown]>([[null], [[{ user: "bob" }]], [[{ user: "bob", right: "own" }]], [[{ user: "bob", right: null }]], [[null]], [{}]])(
    "refuse %j",
    async (grants) => {
      await deploy();
      expect(outcome(await send("setLabGrants", { lab, grants }))).toBe("400 bad_request");
    },
  );

  test("need a lab", async () => {
    expect(outcome(await send("getLabGrants"))).toBe("400 bad_request");
    expect(outcome(await send("setLabGrants", { grants: [] }))).toBe("400 bad_request");
    expect(outcome(await send("setLabGrants", { lab: "/none", grants: [] }))).toBe("404 lab_not_found");
  });
});

describe("headers of changes", () => {
  test("Prefer: respond-async answers the job, also among other preferences", async () => {
    for (const prefer of ["respond-async", "wait=10, respond-async", "RESPOND-ASYNC; x=1"]) {
      const { json } = await send("deployProject", { yaml }, "ann", { Prefer: prefer });
      expect(Object.keys(json.data)).toEqual(["job"]);
      expect(await ended(json.data.job)).toMatchObject({
        status: "done",
        outcome: "finished",
        result: { lab, nodes: 2 },
        lab,
        user: "ann",
      });
      await send("destroyProject", { lab });
    }
    expect((await send("deployProject", { yaml }, "ann", { Prefer: "respond-asynchronously" })).json.data.lab).toBe(lab);
  });

  test("Idempotency-Key does a change once", async () => {
    const key = { "Idempotency-Key": "4f0e" };
    const first = await send("deployProject", { yaml }, "ann", key);
    const again = await send("deployProject", { yaml }, "ann", key);
    expect(again.json).toEqual(first.json);
    expect(steps.filter((step) => step.do === "create-lab")).toHaveLength(1);
    expect(outcome(await send("deployProject", { yaml: more }, "ann", key))).toBe("400 bad_request");
    expect(outcome(await send("destroyProject", { lab }, "ann", { "Idempotency-Key": "x".repeat(256) }))).toBe("400 bad_request");
    const { job } = (await send("deployProject", { yaml }, "ann", { ...key, Prefer: "respond-async" })).json.data;
    expect(await ended(job)).toMatchObject({ operation: "deployProject", result: first.json.data });
  });

  test("a job is cancelled after the step in flight, and nobody else's", async () => {
    let release = () => {};
    const held = new Promise<void>((settle) => {
      release = settle;
    });
    hook = ({ step }) => {
      steps.push(step);
      return step.do === "create-node" ? held : undefined;
    };
    const { job } = (await send("deployProject", { yaml }, "ann", { Prefer: "respond-async" })).json.data;
    const path = `/api/v1/jobs/${job}`;
    await expect.poll(async () => (await send("getJob", undefined, "ann", {}, path)).json.data.steps).toBeGreaterThan(0);
    expect(outcome(await send("getJob", undefined, "bob", {}, path))).toBe("404 job_not_found");
    expect(outcome(await send("cancelJob", undefined, "bob", {}, `${path}/cancel`))).toBe("404 job_not_found");
    expect(outcome(await send("cancelJob", undefined, "ann", {}, `${path}/cancel`))).toBe(200);
    release();
    const { error, ...seen } = await ended(job);
    expect(seen).toMatchObject({ status: "cancelled", outcome: "cancelled" });
    // The step in flight ends; what is done stays done, and nothing of it is taken back.
    const { code, data } = error as {
      readonly code: string;
      readonly data: Record<"applied" | "remaining", readonly { readonly op: string }[]>;
    };
    expect(code).toBe("cancelled");
    expect(data.applied).toHaveLength(steps.length);
    expect(data.applied.map(({ op }) => op)).toEqual(expect.arrayContaining(["create"]));
    expect(data.remaining.length).toBeGreaterThan(0);
    const there = async () => (await send("inspectProject", { lab, refresh: true })).json.data;
    expect((await there()).nodes).toHaveLength(steps.filter((step) => step.do === "create-node").length);
    const { json } = await send("reconcileProject", { yaml });
    expect(json.data).toMatchObject({ status: "applied", fullDeploy: false, applied: expect.any(Number) });
    expect((await there()).nodes).toHaveLength(2);
    expect((await send("planProject", { yaml })).json.data.actions.filter(({ op }: { op: string }) => op !== "start")).toEqual([]);
    expect(outcome(await send("cancelJob", undefined, "ann", {}, `${path}/cancel`))).toBe("403 operation_not_allowed");
  });
});

describe("a lab that is locked on its host", () => {
  test("is not changed, and says so for every change; reads and from_host go on", async () => {
    await deploy();
    const admin = (await host.resume!("admin"))!;
    await admin.setLock(lab, true);
    steps = [];
    const changes: readonly [OperationId, object][] = [
      ["reconcileProject", { yaml: more }],
      ["deployProject", { yaml, replace: true }],
      ["destroyProject", { lab }],
      ["execProject", { lab, action: "stop" }],
    ];
    for (const [id, body] of changes) expect(outcome(await send(id, body)), id).toBe("423 lab_locked");
    expect(steps).toEqual([]);
    expect((await send("planProject", { yaml: more })).json.data).toMatchObject({ locked: true, lock: 1, applicable: false });
    expect((await send("getProjectStatus", { lab })).json.data).toMatchObject({ exists: true });
    expect(outcome(await send("reconcileProject", { lab, direction: "from_host" }))).toBe(200);
    expect(outcome(await send("importProject", { lab }))).toBe(200);
  });

  test("in the middle of a change stops it, with what is done and what is left", async () => {
    await deploy();
    const admin = (await host.resume!("admin"))!;
    hook = async ({ step }) => {
      if (step.do === "create-node") await admin.setLock(lab, true);
    };
    const answer = await send("reconcileProject", { yaml: more });
    expect(outcome(answer)).toBe("423 lab_locked_mid_apply");
    expect(answer.json.data.applied).toMatchObject([{ op: "create", kind: "node", key: "h2" }]);
    expect(answer.json.data.remaining.length).toBeGreaterThan(0);
  });
});

test("a blocked plan is reported and changes nothing", async () => {
  await deploy();
  steps = [];
  const { data } = (await send("reconcileProject", { yaml: more.replace("h2: {template: linux}", "h2: {template: linux, image: nope}") }))
    .json;
  expect(data).toMatchObject({ applicable: false, applied: 0, status: "unchanged", fullDeploy: false, blocked: [{ key: "h2" }] });
  expect(steps).toEqual([]);
});
