import { afterEach, describe, expect, it } from "vitest";
import { eveHost } from "../../src/hosts/eve/host.ts";
import { type FakeEveOptions, noLatency } from "../fakes/eve/options.ts";
import { type FakeEve, startFakeEve } from "../fakes/eve/server.ts";
import type { Answer, RawClient } from "./raw-client.ts";
import { type Served, serve } from "./served.ts";

const yaml = "name: trio\nnodes:\n  pc1: { kind: vpcs }\n  pc2: { kind: vpcs }\n  pc3: { kind: vpcs }\n";
const project = { yaml, lab: "/trio", project_mode: "create" };

let ends: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const end of ends.reverse()) await end();
  ends = [];
});

interface Place {
  readonly fake: FakeEve;
  readonly served: Served;
  readonly client: RawClient;
  readonly ask: (path: string, body?: object) => Promise<Answer>;
}

async function place(options: FakeEveOptions = {}): Promise<Place> {
  const fake = await startFakeEve({ latency: "none", templates: ["vpcs"], ...options });
  ends.push(async () => {
    await fake.close();
    expect(fake.defects).toEqual([]);
  });
  const timing = { pollMs: 10, comeUpMs: 300 };
  const served = await serve({ host: eveHost({ url: fake.url, plainHttp: true, warn: () => {}, timing }) });
  ends.push(async () => served[Symbol.asyncDispose]());
  const client = await served.signIn("admin", "eve");
  return { fake, served, client, ask: (path, body = {}) => client.post(`/api/v1/${path}`, { ...project, ...body }) };
}

const planned = (answer: Answer) => (answer.json.data.operations as readonly { readonly id: string }[]).map(({ id }) => id);

describe.each(["hidden", "visible"] as const)("power on a host with notices %s", (notices) => {
  it("the answer and the job hold the reason of each node that failed, and the next plan starts it", async () => {
    const { fake, client, ask } = await place({ notices });
    expect((await ask("projects/deploy", { yaml: yaml.replaceAll("vpcs }", "vpcs, start: false }") })).status).toBe(200);
    for (let times = 0; times < 2; times++) fake.failNextStart({ code: 12, node: 2 });
    const answer = await ask("projects/exec", { action: "start", nodes: ["pc1", "pc2", "pc3", "nope"] });
    expect(answer.json.data).toMatchObject({ requested: 4, started: 2, failed: 1, invalid: 1 });
    const { nodes } = answer.json.data;
    expect(nodes).toEqual([
      { node: "pc1", ok: true },
      { node: "pc2", ok: false, message: expect.stringContaining("Failed to start node (12)") },
      { node: "pc3", ok: true },
      { node: "nope", ok: false, message: "/trio has no node nope" },
    ]);
    const { jobs } = (await client.get("/api/v1/jobs")).json.data;
    const job = jobs.find((one: { readonly operation: string }) => one.operation === "execProject");
    expect((await client.get(`/api/v1/jobs/${job.job}`)).json.data.result.nodes).toEqual(nodes);
    expect(planned(await ask("projects/plan"))).toEqual(["start:node:pc2"]);
  });

  it("a deploy whose nodes do not all start names each that failed, and the next plan starts those", async () => {
    const { fake, ask } = await place({ notices });
    for (const node of [1, 3]) for (let times = 0; times < 2; times++) fake.failNextStart({ code: 12, node });
    const answer = await ask("projects/deploy");
    expect(answer.status).toBe(502);
    expect(answer.json.data.failed).toEqual([
      expect.objectContaining({ key: "pc1", message: expect.stringContaining("(12)") }),
      expect.objectContaining({ key: "pc3", message: expect.stringContaining("(12)") }),
    ]);
    expect(fake.running().map(({ name }) => name)).toEqual(["pc2"]);
    expect(planned(await ask("projects/plan"))).toHaveLength(2);
  });

  it("a changed startup-config of a node that runs waits for a wipe: the plan and the answer name the command", async () => {
    const { ask } = await place({ notices });
    const configured = (config: string) => ({
      yaml: yaml.replace("{ kind: vpcs }", `{ kind: vpcs, startup-config: "set pcname ${config}\\n" }`),
    });
    expect((await ask("projects/deploy", configured("one"))).status).toBe(200);
    const changed = configured("two");
    const { actions, text } = (await ask("projects/plan", changed)).json.data;
    expect(text).toMatch(/startup-config .*\n(.*\n)* {6}note: a node that has run gets it/);
    expect(actions).toEqual([
      expect.objectContaining({
        id: "config:pc1",
        note: expect.stringContaining("first start after a wipe"),
      }),
    ]);
    const answer = await ask("projects/reconcile", changed);
    expect(answer.json.data.warnings).toEqual([
      { code: "wipe_needed", node: "pc1", message: expect.stringContaining("labwright wipe pc1") },
    ]);
    expect((await ask("projects/exec", { action: "stop", node: "pc1", stopmode: 1 })).status).toBe(200);
    // A node that is stopped may be wiped or not: the plan alone names it.
    expect((await ask("projects/reconcile", configured("three"))).json.data.warnings).toBeUndefined();
  });

  it("a command right after a deploy waits for the startup config of a VPCS, by exec and by a dialogue, and is run", async () => {
    const { ask } = await place({ notices, latency: { ...noLatency, vpcsBoot: 300, vpcsAddress: 1_500 } });
    const booted = { yaml: yaml.replace("{ kind: vpcs }", `{ kind: vpcs, startup-config: "${"ip 10.0.0.1/24\\n".repeat(3)}" }`) };
    expect((await ask("projects/deploy", booted)).status).toBe(200);
    const [exec, run] = await Promise.all([
      ask("console/exec", { ...booted, node: "pc1", command: "echo one" }),
      ask("console/run", {
        ...booted,
        node: "pc2",
        steps: [
          { send: "", expect: "VPCS>" },
          { send: "echo two", expect: { regex: "^two$" } },
        ],
      }),
    ]);
    expect([exec.status, exec.json.data?.output]).toEqual([200, "one"]);
    expect([run.status, run.json.code]).toEqual([200, undefined]);
  });

  it("a new login after the session was taken over twice works at once, and does not get the old error", async () => {
    const { fake, served, ask } = await place({ notices });
    expect((await ask("projects/deploy")).status).toBe(200);
    expect((await ask("projects/status")).status).toBe(200);
    const logins = () => fake.calls.filter((call) => call === "POST /api/auth/login").length;
    const before = logins();
    fake.expireSession("admin");
    // The service shares one read among those who ask in the same moment.
    await expect.poll(async () => [(await ask("projects/status")).status, logins() - before]).toEqual([200, 1]);
    fake.expireSession("admin");
    await expect.poll(async () => (await ask("projects/status")).json.code).toBe("expired_host_session");
    const again = await served.signIn("admin", "eve");
    for (const [path, body] of [
      ["projects/status", {}],
      ["console/exec", { node: "pc1", command: "echo hello" }],
      ["projects/status", {}],
    ] as const) {
      const answer = await again.post(`/api/v1/${path}`, { ...project, ...body });
      expect([path, answer.status, answer.json.code]).toEqual([path, 200, undefined]);
    }
  });

  it("the status of a lab whose host is down holds the reason", async () => {
    const { fake, ask } = await place({ notices });
    expect((await ask("projects/deploy")).status).toBe(200);
    await fake.close();
    await expect
      .poll(async () => (await ask("projects/status")).json.data.live)
      .toEqual({ available: false, error: { code: "host_unreachable", error: expect.stringContaining("refused") } });
  });
});
