import { afterEach, describe, expect, it, test } from "vitest";
import { eveHost } from "../../src/hosts/eve/host.ts";
import { readUnl } from "../../src/hosts/eve/lab-file/unl.ts";
import type { FakeEveOptions } from "../fakes/eve/options.ts";
import { type FakeEve, startFakeEve } from "../fakes/eve/server.ts";
import type { Answer, RawClient } from "./raw-client.ts";
import { type Served, serve } from "./served.ts";

const two = (start = false) =>
  `name: course\nnodes:\n  pc1: {template: vpcs, start: ${start}}\n  pc2: {template: vpcs, start: ${start}}\nlinks:\n  - ["pc1:eth0", "pc2:eth0"]\n`;
const three =
  "name: course\nnodes:\n  pc1: {template: vpcs, start: false}\n  pc3: {template: vpcs, start: false}\n  pc4: {template: vpcs, start: false}\nlinks:\n" +
  '  - ["pc1:eth0", "pc3:eth0"]\n';
const lab = "/labs/course";
const api = (word: string) => `/api/v1/projects/snapshots${word === "" ? "" : `/${word}`}`;

let ends: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const end of ends.reverse()) await end();
  ends = [];
});

async function served(options: FakeEveOptions): Promise<{ readonly fake: FakeEve; readonly admin: RawClient; readonly service: Served }> {
  const users = ["admin", "second"].map((username) => ({ username, password: "eve" }));
  const fake = await startFakeEve({ latency: "none", templates: ["vpcs"], lockTimeoutMs: 200, users, ...options });
  ends.push(async () => {
    await fake.close();
    expect([fake.defects, fake.locks()]).toEqual([[], []]);
  });
  const timing = { pollMs: 10, patienceMs: 5_000, comeUpMs: 1_000, settleMs: 300, othersMs: 0 };
  const service = await serve({ host: eveHost({ url: fake.url, plainHttp: true, warn: () => {}, timing }) });
  ends.push(async () => service[Symbol.asyncDispose]());
  return { fake, service, admin: await service.signIn("admin", "eve") };
}

const said = ({ status, json }: Answer) => [status, json.code];
const fileOf = (fake: FakeEve, path: string) => readUnl(fake.labFile(path) ?? "");
const names = (fake: FakeEve) =>
  fileOf(fake, "/labs/course.unl")
    .nodes.map(({ name, id }) => `${name}=${id}`)
    .sort();

describe.each(["hidden", "visible"] as const)("snapshots on EVE-NG Community, notices %s", (notices) => {
  it("give a lab back what it was, and report which disks are not restored", async () => {
    const { fake, admin } = await served({ notices });
    expect((await admin.post("/api/v1/projects/deploy", { yaml: two(), lab })).status).toBe(200);
    const taken = await admin.post(api("take"), { lab, snapshot: "before exam" });
    expect([taken.status, taken.json.data]).toEqual([
      200,
      { lab, snapshot: "before exam", taken_at: expect.stringMatching(/^\d{4}-/), nodes: 2 },
    ]);
    const [copy, own] = [fileOf(fake, "/labwright-snapshots/labs/course/before exam.unl"), fileOf(fake, "/labs/course.unl")];
    expect([copy.lock, copy.id === own.id, copy.nodes]).toEqual([1, false, own.nodes]);
    expect((await admin.get("/api/v1/labs")).json.data.labs.map((one: { lab: string }) => one.lab)).toEqual([lab]);
    expect((await admin.post(api(""), { lab })).json.data.snapshots).toMatchObject([{ snapshot: "before exam" }]);

    const change = await admin.post("/api/v1/projects/plan", { yaml: three, lab, prune: true });
    const body = { yaml: three, lab, prune: true, confirm: true, plan_identity: change.json.data.plan_identity };
    expect((await admin.post("/api/v1/projects/reconcile", body)).json.data.status).toBe("applied");
    expect(names(fake)).toEqual(["pc1=1", "pc3=3", "pc4=4"]);
    const heard = fake.calls.length;
    const restored = await admin.post(api("restore"), { lab, snapshot: "before exam" });
    expect([restored.status, restored.json.data]).toMatchObject([
      200,
      {
        lab,
        snapshot: "before exam",
        nodes: [
          { node: "pc1", disk: "kept" },
          { node: "pc2", disk: "new" },
        ],
        removed: ["pc3", "pc4"],
        not_restored: [
          "a snapshot holds no disks, so none was restored",
          expect.stringMatching(/^pc1: the disk is unchanged/),
          expect.stringMatching(/^pc2: the disk is empty/),
          expect.stringMatching(/^pc3, pc4: deleted/),
        ],
      },
    ]);
    // Only disks of nodes that go are thrown away: pc1 keeps its own.
    expect(fake.calls.slice(heard).filter((call) => call.endsWith("/wipe"))).toEqual([
      "GET /api/labs/labs/course.unl/nodes/3/wipe",
      "GET /api/labs/labs/course.unl/nodes/4/wipe",
    ]);
    expect([names(fake), fileOf(fake, "/labs/course.unl").id, fileOf(fake, "/labs/course.unl").lock]).toEqual([
      ["pc1=1", "pc2=2"],
      own.id,
      0,
    ]);

    // The intent is unchanged: the restore changed the host only.
    const plan = (await admin.post("/api/v1/projects/plan", { lab })).json.data;
    expect(plan.actions.map(({ key, origin }: { key: string; origin: string }) => `${key} ${origin}`)).toEqual(
      expect.arrayContaining(["pc3 host", "pc4 host"]),
    );
    expect((await admin.post("/api/v1/projects/plan", { yaml: two(), lab })).json.data.operations).toEqual([]);
    expect((await admin.post("/api/v1/projects/exec", { lab, action: "start" })).json.data).toMatchObject({ started: 2, failed: 0 });

    expect(said(await admin.post(api("remove"), { lab, snapshot: "before exam" }))).toEqual([200, undefined]);
    expect((await admin.post(api(""), { lab })).json.data.snapshots).toEqual([]);
    expect(said(await admin.post(api("remove"), { lab, snapshot: "before exam" }))).toEqual([404, "snapshot_not_found"]);
    expect((await admin.post("/api/v1/projects/exec", { lab, action: "stop" })).json.data.stopped).toBe(2);
  });

  it("are refused while nodes run, with the nodes named; a locked lab is not restored", async () => {
    const { fake, admin } = await served({ notices });
    await admin.post("/api/v1/projects/deploy", { yaml: two(), lab });
    await admin.post(api("take"), { lab, snapshot: "s1" });
    await admin.post("/api/v1/projects/exec", { lab, action: "start" });
    for (const [word, snapshot] of [
      ["take", "s2"],
      ["restore", "s1"],
    ] as const) {
      const refused = await admin.post(api(word), { lab, snapshot });
      expect([word, ...said(refused), refused.json.data]).toEqual([word, 409, "nodes_running", { nodes: ["pc1", "pc2"] }]);
      expect(refused.json.error).toMatch(/pc1, pc2 run: stop the nodes first/);
    }
    expect((await admin.post(api(""), { lab })).json.data.snapshots).toHaveLength(1);
    expect(fake.running()).toHaveLength(2);
    await admin.post("/api/v1/projects/exec", { lab, action: "stop" });
    await admin.call("PUT", "/api/v1/labs/lock", { body: JSON.stringify({ lab, locked: true }) });
    expect(said(await admin.post(api("restore"), { lab, snapshot: "s1" }))).toEqual([423, "lab_locked"]);
    expect(said(await admin.post(api("take"), { lab, snapshot: "locked" }))).toEqual([200, undefined]);
  });

  it("follow jobs and Idempotency-Keys as every change, and need a name that the host can have", async () => {
    const { admin } = await served({ notices });
    await admin.post("/api/v1/projects/deploy", { yaml: two(), lab });
    const headers = { "Idempotency-Key": "once" };
    const begun = await admin.post(api("take"), { lab, snapshot: "s" }, { headers: { ...headers, Prefer: "respond-async" } });
    const job = async () => (await admin.get(`/api/v1/jobs/${begun.json.data.job}`)).json.data;
    await expect.poll(async () => (await job()).status, { timeout: 60_000 }).toBe("done");
    expect((await admin.post(api("take"), { lab, snapshot: "s" }, { headers })).json.data).toEqual((await job()).result);
    expect(said(await admin.post(api("take"), { lab, snapshot: "s" }))).toEqual([409, "snapshot_exists"]);
    for (const snapshot of ["", " x", "a/b", "..", "é", "x".repeat(65)])
      expect([snapshot, ...said(await admin.post(api("take"), { lab, snapshot }))]).toEqual([snapshot, 400, "bad_request"]);
    expect((await admin.post(api("take"), { lab })).json.data.snapshot).toMatch(/^\d{4}-\d\d-\d\d-\d{6}$/);
    expect(said(await admin.post(api("restore"), { lab, snapshot: "../course" }))).toEqual([404, "snapshot_not_found"]);
    // A snapshot is not a lab.
    expect(said(await admin.post("/api/v1/projects/inspect", { lab: "/labwright-snapshots/labs/course/s" }))).toEqual([400, "bad_request"]);
  });

  it("go with their lab, unless its disks are kept", async () => {
    const { fake, admin } = await served({ notices });
    const copy = "/labwright-snapshots/labs/course/s.unl";
    await admin.post("/api/v1/projects/deploy", { yaml: two(), lab });
    await admin.post(api("take"), { lab, snapshot: "s" });
    await admin.post("/api/v1/projects/destroy", { lab, wipe: false });
    expect(fake.labFile(copy)).toBeDefined();
    await admin.post("/api/v1/projects/deploy", { yaml: three, lab });
    expect((await admin.post(api("restore"), { lab, snapshot: "s" })).json.data.removed).toEqual(["pc3", "pc4"]);
    expect(said(await admin.post("/api/v1/projects/destroy", { lab }))).toEqual([200, undefined]);
    expect(fake.labFile(copy)).toBeUndefined();
    expect(fake.folders().filter((path) => path.startsWith("/labwright-snapshots"))).toEqual([]);
  });

  it("avoid the numbers that another lab has taken since", async () => {
    const { fake, admin } = await served({ notices });
    await admin.post("/api/v1/projects/deploy", { yaml: two(), lab });
    await admin.post(api("take"), { lab, snapshot: "s" });
    const left = two().split("  pc2:")[0] ?? "";
    const { plan_identity } = (await admin.post("/api/v1/projects/plan", { yaml: left, lab, prune: true })).json.data;
    await admin.post("/api/v1/projects/reconcile", { yaml: left, lab, prune: true, confirm: true, plan_identity });
    expect(names(fake)).toEqual(["pc1=1"]);
    // The numbers of a snapshot are free for others.
    await admin.post("/api/v1/projects/deploy", { yaml: "name: other\nnodes: {x: {template: vpcs}}\n" });
    expect(fileOf(fake, "/other.unl").nodes.map(({ id }) => id)).toEqual([2]);
    await admin.post(api("restore"), { lab, snapshot: "s" });
    expect(names(fake)).toEqual(["pc1=1", "pc2=3"]);
    expect((await admin.post("/api/v1/projects/exec", { lab, action: "start" })).json.data).toMatchObject({ started: 2 });
    expect(fake.running()).toHaveLength(3);
  });
});

it("only those who may edit a lab take, restore and remove its snapshots", async () => {
  await using service = await serve();
  const [ann, bob, viewer] = [await service.signIn("ann"), await service.signIn("bob"), await service.signIn("eve")];
  await ann.post("/api/v1/projects/deploy", { yaml: "name: course\nnodes: {h1: {template: linux}}\n", lab });
  await ann.call("PUT", "/api/v1/labs/grants", { body: JSON.stringify({ lab, grants: [{ user: "bob", right: "operate" }] }) });
  const manifest = `version: 1\nmode: load\nlab: ${lab}\n`;
  for (const word of ["take", "restore", "remove"]) {
    const by = async (client: RawClient, more = {}) => said(await client.post(api(word), { lab, snapshot: "s", ...more }));
    const refused = [403, "operation_not_allowed"];
    expect([word, await by(bob), await by(viewer), await by(ann, { manifest })]).toEqual([word, refused, refused, refused]);
    // Rights come first: this host has no snapshots.
    expect([word, await by(ann)]).toEqual([word, [422, "unsupported"]]);
  }
  for (const client of [bob, viewer]) expect(said(await client.post(api(""), { lab }))).toEqual([422, "unsupported"]);

  const { admin, service: onEve } = await served({});
  const second = await onEve.signIn("second", "eve");
  await admin.post("/api/v1/projects/deploy", { yaml: two(), lab });
  await admin.post(api("take"), { lab, snapshot: "s" });
  expect((await second.post(api(""), { lab })).json.data.snapshots).toMatchObject([{ snapshot: "s" }]);
});

test.each(["pro", "pnetlab"] as const)("a host without snapshots (%s) says so", async (edition) => {
  const { admin } = await served({ edition });
  await admin.post("/api/v1/projects/deploy", { yaml: two(), lab });
  for (const word of ["", "take", "restore", "remove"]) {
    const { status, json } = await admin.post(api(word), { lab, snapshot: "s" });
    expect([word, status, json.code, json.data]).toEqual([word, 422, "unsupported", { feature: "snapshots" }]);
  }
  expect((await admin.get("/api/v1/capabilities")).json.data.features).toMatchObject({ snapshots: false, tasks: true });
});
