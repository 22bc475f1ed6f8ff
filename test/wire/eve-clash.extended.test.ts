import { afterEach, describe, expect, it } from "vitest";
import { eveHost } from "../../src/hosts/eve/host.ts";
import type { FakeEveOptions } from "../fakes/eve/options.ts";
import { type FakeEve, startFakeEve } from "../fakes/eve/server.ts";
import type { Answer, RawClient } from "./raw-client.ts";
import { serve } from "./served.ts";

const yaml = (name: string, start = true) =>
  `name: ${name}\nnodes:\n  pc1: {template: vpcs, start: ${start}}\n  pc2: {template: vpcs, start: ${start}}\nlinks:\n  - ["pc1:eth0", "pc2:eth0"]\n`;
const users = ["admin", "second"].map((username) => ({ username, password: "eve" }));

let ends: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const end of ends.reverse()) await end();
  ends = [];
});

interface Served {
  readonly fake: FakeEve;
  readonly admin: RawClient;
  readonly second: () => Promise<RawClient>;
  readonly running: () => readonly string[];
}

async function served(options: FakeEveOptions): Promise<Served> {
  const fake = await startFakeEve({ latency: "none", templates: ["vpcs"], lockTimeoutMs: 200, users, ...options });
  ends.push(async () => {
    await fake.close();
    expect([fake.defects, fake.locks()]).toEqual([[], []]);
  });
  const timing = { pollMs: 10, patienceMs: 5_000, comeUpMs: 1_000, settleMs: 300, othersMs: 0 };
  const host = eveHost({ url: fake.url, plainHttp: true, warn: () => {}, timing });
  const service = await serve({ host });
  ends.push(async () => service[Symbol.asyncDispose]());
  const running = () =>
    fake
      .running()
      .map(({ lab, name }) => `${lab} ${name}`)
      .sort();
  return { fake, admin: await service.signIn("admin", "eve"), second: () => service.signIn("second", "eve"), running };
}

/** Makes /c7b with the numbers of /c7a, which runs, as someone draws it in the web interface, and gives it a record here. */
async function twins({ fake, admin }: Served): Promise<void> {
  expect((await admin.post("/api/v1/projects/deploy", { yaml: yaml("c7a") })).status).toBe(200);
  const copy = (fake.labFile("/c7a.unl") ?? "")
    .replace(/(<lab [^>]*\bid=")[^"]*/, `$1${crypto.randomUUID()}`)
    .replace(/(<lab [^>]*\bname=")[^"]*/, "$1c7b");
  fake.putLabFile("/c7b.unl", copy);
  expect((await admin.post("/api/v1/labs/adopt", { lab: "/c7b", owner: "admin" })).status).toBe(200);
}

const said = ({ status, json }: Answer) => [status, json.code];

describe.each(["hidden", "visible"] as const)("with notices %s, a lab whose numbers run for another lab", (notices) => {
  it("is unknown in status with the other lab named, gives no console, and is not started or stopped", async () => {
    const here = await served({ notices });
    await twins(here);
    const { admin, running } = here;
    const both = ["/c7a.unl pc1", "/c7a.unl pc2"];
    const status = await admin.post("/api/v1/projects/status", { lab: "/c7b" });
    expect(status.json.data.live.nodes).toMatchObject([
      { name: "pc1", status: "unknown", clash: { number: 1, lab: "/c7a", node: "pc1", certain: true } },
      { name: "pc2", status: "unknown", clash: { number: 2, lab: "/c7a", node: "pc2", certain: true } },
    ]);
    for (const [path, body] of [
      ["console/exec", { node: "pc1", command: "echo wrong device" }],
      ["console/attach", { node: "pc1" }],
      ["console/run", { node: "pc1", steps: [{ send: "x" }] }],
      ["projects/exec", { action: "stop", node: "pc1" }],
      ["projects/exec", { action: "stop" }],
      ["projects/exec", { action: "start" }],
    ] as const) {
      const answer = await admin.post(`/api/v1/${path}`, { lab: "/c7b", ...body });
      expect([path, ...said(answer), answer.json.error]).toEqual([
        path,
        409,
        "number_clash",
        expect.stringMatching(/\/c7a.*labwright renumber/),
      ]);
      expect(answer.json.data.clash).toMatchObject({ lab: "/c7a", certain: true });
    }
    expect((await admin.post("/api/v1/projects/consoles", { lab: "/c7b" })).json.data.consoles).toMatchObject([
      { name: "pc1", status: "unknown", available: false },
      { name: "pc2", status: "unknown", available: false },
    ]);
    expect(running()).toEqual(both);
    const plan = await admin.post("/api/v1/projects/plan", { lab: "/c7b", yaml: yaml("c7b") });
    expect(plan.json.data).toMatchObject({ applicable: false, summary: { stops: 0 } });
    expect(plan.json.data.blocked.map(({ reason }: { reason: { code: string } }) => reason.code)).toEqual(["number_clash", "number_clash"]);
    expect(said(await admin.post("/api/v1/projects/destroy", { lab: "/c7b" }))).toEqual([200, undefined]);
    expect([here.fake.labFile("/c7b.unl"), running()]).toEqual([undefined, both]);
  });

  it("is renumbered, and then runs beside the other lab and keeps its record", async () => {
    const here = await served({ notices });
    await twins(here);
    const { admin, running } = here;
    const key = { "Idempotency-Key": "once" };
    const begun = await admin.post("/api/v1/projects/renumber", { lab: "/c7b" }, { headers: { ...key, Prefer: "respond-async" } });
    const job = async () => (await admin.get(`/api/v1/jobs/${begun.json.data.job}`)).json.data;
    await expect.poll(async () => (await job()).status, { timeout: 60_000 }).toBe("done");
    const answer = await admin.post("/api/v1/projects/renumber", { lab: "/c7b" }, { headers: key });
    expect((await job()).result).toEqual(answer.json.data);
    expect(answer.json.data).toMatchObject({
      lab: "/c7b",
      nodes: [
        { node: "pc1", before: 1, after: 3 },
        { node: "pc2", before: 2, after: 4 },
      ],
      networks: [{ before: 1, after: 2 }],
    });
    const plan = await admin.post("/api/v1/projects/plan", { lab: "/c7b", yaml: yaml("c7b", false) });
    expect(plan.json.data.operations).toEqual([]);
    expect((await admin.post("/api/v1/projects/exec", { lab: "/c7b", action: "start" })).json.data).toMatchObject({
      started: 2,
      failed: 0,
    });
    expect(running()).toHaveLength(4);
    expect(said(await admin.post("/api/v1/projects/renumber", { lab: "/c7b" }))).toEqual([409, "lab_in_use"]);
    expect((await admin.post("/api/v1/console/exec", { lab: "/c7b", node: "pc1", command: "echo mine" })).json.data.output).toContain(
      "mine",
    );
  });
});

it("plan and validate warn of a drawn lab that uses nearly all numbers", async () => {
  const { fake, admin } = await served({});
  const nodes = Array.from(
    { length: 126 },
    (_, i) => `<node id="${i + 1}" name="n${i + 1}" type="vpcs" template="vpcs" config="0" delay="0"/>`,
  );
  const id = "5b0f0f0e-1d5d-4b8a-9a6e-0c1d2e3f4a5b";
  fake.putLabFile("/big.unl", `<lab name="big" id="${id}" version="1"><topology><nodes>${nodes.join("")}</nodes></topology></lab>`);
  const warning = {
    severity: "warning",
    code: "few_numbers",
    line: 1,
    message: expect.stringMatching(/^2 new nodes .* leave 1 of 127: .*largest is \/big with 126 nodes: stop or delete/),
  };
  const warningsOf = async (path: string, text: string) =>
    (await admin.post(`/api/v1/projects/${path}`, { yaml: text })).json.data.warnings ?? [];
  expect(await warningsOf("validate", yaml("small"))).toMatchObject([warning]);
  expect(await warningsOf("plan", yaml("small"))).toMatchObject([warning]);
  expect(await warningsOf("plan", "name: one\nnodes:\n  pc1: {template: vpcs}\n")).toEqual([]);
});

it("a copy with the same lab id is destroyed by force alone, and the nodes of the other lab run on", async () => {
  const { fake, admin, running } = await served({});
  expect((await admin.post("/api/v1/projects/deploy", { yaml: yaml("c7a") })).status).toBe(200);
  fake.putLabFile("/c7b.unl", fake.labFile("/c7a.unl") ?? "");
  expect((await admin.post("/api/v1/labs/adopt", { lab: "/c7b", owner: "admin" })).status).toBe(200);
  const refused = await admin.post("/api/v1/projects/destroy", { lab: "/c7b" });
  expect([...said(refused), refused.json.error]).toEqual([409, "number_clash", expect.stringMatching(/renumber.*destroy --force/)]);
  const forced = await admin.post("/api/v1/projects/destroy", { lab: "/c7b", force: true });
  expect([forced.status, forced.json.error, forced.json.data?.warnings]).toEqual([200, undefined, undefined]);
  expect([fake.labFile("/c7b.unl"), running()]).toEqual([undefined, ["/c7a.unl pc1", "/c7a.unl pc2"]]);
  expect((await admin.post("/api/v1/projects/destroy", { lab: "/c7a" })).status).toBe(200);
  expect(running()).toEqual([]);
});

it("a node whose lock was left behind is refused its start with the way out, and is wiped at once", async () => {
  const { fake, admin } = await served({});
  await admin.post("/api/v1/projects/deploy", { yaml: yaml("stuck", false) });
  await fake.stickNode("/stuck.unl", 1);
  const live = async () => (await admin.post("/api/v1/projects/status", { lab: "/stuck" })).json.data.live.nodes;
  expect(await live()).toMatchObject([{ status: "failed" }, { status: "stopped" }]);
  const start = await admin.post("/api/v1/projects/exec", { lab: "/stuck", action: "start", node: "pc1" });
  expect([...said(start), start.json.error]).toEqual([409, "node_stuck", expect.stringContaining("labwright wipe")]);
  expect((await admin.post("/api/v1/projects/exec", { lab: "/stuck", action: "start" })).json.data).toMatchObject({
    started: 1,
    failed: 1,
  });
  const heard = fake.calls.length;
  expect((await admin.post("/api/v1/projects/exec", { lab: "/stuck", action: "wipe", node: "pc1" })).json.data).toMatchObject({ wiped: 1 });
  expect(fake.calls.slice(heard).filter((call) => /\/(start|stop|wipe)$/.test(call))).toEqual(["GET /api/labs/stuck.unl/nodes/1/wipe"]);
  expect((await admin.post("/api/v1/projects/exec", { lab: "/stuck", action: "start" })).json.data).toMatchObject({
    started: 1,
    failed: 0,
  });
});

it("a lab whose nodes run for another user is destroyed by force alone, which lists what goes on running", async () => {
  const { fake, admin, second, running } = await served({});
  await admin.post("/api/v1/projects/deploy", { yaml: yaml("own") });
  const other = await second();
  expect((await other.post("/api/v1/projects/status", { lab: "/own" })).json.data.live.nodes).toMatchObject([
    { status: "stopped", other_user: { user: "admin", certain: true } },
    { status: "stopped", other_user: { user: "admin", certain: true } },
  ]);
  const refused = await other.post("/api/v1/projects/destroy", { lab: "/own" });
  expect([...said(refused), refused.json.data.users]).toEqual([409, "lab_in_use", ["admin"]]);
  expect(refused.json.error).toContain("pc1, pc2 run for user admin");
  expect(running()).toEqual(["/own.unl pc1", "/own.unl pc2"]);
  const forced = await other.post("/api/v1/projects/destroy", { lab: "/own", force: true });
  expect([forced.status, forced.json.data.warnings]).toMatchObject([
    200,
    [
      { code: "left_running", node: "pc1", message: expect.stringContaining("goes on running for user admin") },
      { code: "left_running", node: "pc2" },
    ],
  ]);
  expect(fake.labFile("/own.unl")).toBeUndefined();
});
