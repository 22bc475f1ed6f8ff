import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { operations } from "../../src/contract/operations.ts";
import { eveFixture } from "../../src/hosts/eve/eve-host.fixture.ts";
import { type TestLocalHost, testLocalHost } from "../../src/hosts/local/testing/test-local-host.fixture.ts";
import { memoryHost } from "../../src/hosts/memory/memory-host.ts";
import type { RawClient } from "./raw-client.ts";
import { type Served, serve, users } from "./served.ts";

const path = (id: "saveConfigs" | "deployProject" | "execProject" | "execConsole" | "planProject" | "getPublicProject") =>
  operations[id].path;

test("save returns a configuration for each node that has one, names the others, and is refused to those who may not edit", async () => {
  await using served = await serve({ host: memoryHost({ users }) });
  const [ann, bob, eve] = [await served.signIn("ann"), await served.signIn("bob"), await served.signIn("eve")];
  const yaml =
    "name: saved\nnodes: {r1: {template: frr}, r2: {template: frr}, off: {template: linux, start: false}, sw: {template: switch}}\n";
  await ann.post(path("deployProject"), { yaml });
  await ann.call("PUT", operations.setLabGrants.path, {
    body: JSON.stringify({ lab: "/saved", grants: [{ user: "bob", right: "operate" }] }),
  });
  const { status, json } = await ann.post(path("saveConfigs"), { lab: "/saved" });
  expect([status, json.data]).toEqual([
    200,
    {
      lab: "/saved",
      saved: 2,
      failed: 0,
      nodes: [
        { node: "off", name: "off", outcome: "skipped", code: "node_not_running", error: "the node is stopped; start it first" },
        { node: "r1", name: "r1", outcome: "saved", file: "r1.cfg" },
        { node: "r2", name: "r2", outcome: "saved", file: "r2.cfg" },
        { node: "sw", name: "sw", outcome: "skipped", code: "unsupported", error: "nodes of template switch cannot save a configuration" },
      ],
      files: { "r1.cfg": "hostname r1\n", "r2.cfg": "hostname r2\n" },
    },
  ]);
  const again = yaml.replace("r1: {template: frr}", 'r1: {template: frr, startup-config: "hostname r1\\n"}');
  const one = await ann.post(path("saveConfigs"), { yaml: again, nodes: ["r1"] });
  expect(one.json.data).toMatchObject({ saved: 1, nodes: [{ node: "r1", outcome: "unchanged", file: "r1.cfg" }] });
  expect((await ann.post(path("saveConfigs"), { lab: "/saved", node: "nobody" })).json.code).toBe("node_not_found");
  for (const client of [bob, eve])
    expect((await client.post(path("saveConfigs"), { lab: "/saved" })).json.code).toBe("operation_not_allowed");
  const { jobs } = (await ann.get("/api/v1/jobs")).json.data;
  const job = jobs.find((each: { operation: string; status: string }) => each.operation === "saveConfigs" && each.status === "done");
  const { result } = (await ann.get(`/api/v1/jobs/${job.job}`)).json.data;
  expect([result.saved, JSON.stringify(result).includes("hostname")]).toEqual([1, false]);
  await ann.call("PUT", operations.setLabLock.path, { body: JSON.stringify({ lab: "/saved", locked: true }) });
  expect((await ann.post(path("saveConfigs"), { lab: "/saved" })).json.code).toBe("lab_locked");
});

describe.each(["hidden", "visible"] as const)("on EVE-NG with %s notices", (notices) => {
  test("a VPCS saves on its console first, a router is read by the host's script, and the lab's file has the configurations", async () => {
    const typed: string[] = [];
    const answer = (line: string, { name }: { readonly name: string }) => {
      typed.push(`${name}: ${line}`);
      return line === "save" ? "Saving startup configuration to startup.vpc\n.  done" : undefined;
    };
    await using eve = await eveFixture({ notices, console: answer });
    await using served = await serve({ host: eve.host });
    const admin = await served.signIn("admin", "eve");
    const yaml = `name: saved
nodes:
  pc1: {template: vpcs, startup-config: "ip 10.0.0.1/24\\n"}
  r1: {template: vios}
  l1: {template: linux, attributes: {console: telnet, firstmac: "00:50:00:00:03:00"}}
  off: {template: vpcs, start: false}
`;
    const deployed = await admin.post(path("deployProject"), { yaml });
    expect([deployed.status, deployed.json.error]).toEqual([200, undefined]);
    const { status, json } = await admin.post(path("saveConfigs"), { lab: "/saved" });
    expect([status, json.data?.nodes]).toEqual([
      200,
      [
        { node: "l1", name: "l1", outcome: "skipped", code: "unsupported", error: expect.stringContaining("no script") },
        { node: "off", name: "off", outcome: "skipped", code: "node_not_running", error: expect.any(String) },
        { node: "pc1", name: "pc1", outcome: "unchanged", file: "pc1.cfg" },
        { node: "r1", name: "r1", outcome: "saved", file: "r1.cfg" },
      ],
    ]);
    expect(json.data.files).toEqual({ "pc1.cfg": "ip 10.0.0.1/24\n", "r1.cfg": "hostname r1\n" });
    expect(typed).toContain("pc1: save");
    expect(typed.filter((line) => line.endsWith(": save"))).toEqual(["pc1: save"]);
    const after = yaml.replace("r1: {template: vios}", 'r1: {template: vios, startup-config: "hostname r1\\n"}');
    const plan = await admin.post(path("planProject"), { yaml: after });
    expect(plan.json.data).toMatchObject({ actions: [], unsupported: [] });
    expect(eve.fake.defects).toEqual([]);
  });

  test("a node without a configuration fails with the next step", async () => {
    const answer = (line: string) => (line === "save" ? "Saving startup configuration to startup.vpc\n.  done" : undefined);
    await using eve = await eveFixture({ notices, console: answer });
    await using served = await serve({ host: eve.host });
    const admin = await served.signIn("admin", "eve");
    const yaml = "name: bare\nnodes:\n  pc1: {template: vpcs}\n  sw: {template: iol}\n";
    expect((await admin.post(path("deployProject"), { yaml })).status).toBe(200);
    const { json } = await admin.post(path("saveConfigs"), { lab: "/bare" });
    expect(json.data.nodes).toMatchObject([
      {
        node: "pc1",
        outcome: "failed",
        code: "host_error",
        error: expect.stringMatching(
          /^export the configuration of node pc1: .*\(16\); pc1 has no stored configuration: .*ip .*save.*labwright save$/,
        ),
      },
      {
        node: "sw",
        outcome: "failed",
        error: expect.stringMatching(/\(16\); sw has no stored configuration: run write memory .*labwright save$/),
      },
    ]);
  });
});

test("the lab keeps its id and its name if many nodes of an EVE-NG host save their first configuration", async () => {
  await using eve = await eveFixture();
  await using served = await serve({ host: eve.host });
  const admin = await served.signIn("admin", "eve");
  const keys = Array.from({ length: 6 }, (_, index) => `r${index + 1}`);
  const yaml = `name: many\nnodes:\n${keys.map((key) => `  ${key}: {template: vios}\n`).join("")}`;
  expect((await admin.post(path("deployProject"), { yaml })).status).toBe(200);
  const head = () => {
    const [, lab = ""] = /<lab ([^>]*)>/.exec(eve.fake.labFile("/many.unl") ?? "") ?? [];
    return ["id", "name"].map((name) => new RegExp(`(?:^| )${name}="([^"]*)"`).exec(lab)?.[1]);
  };
  const before = head();
  expect(before).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), "many"]);
  const { json } = await admin.post(path("saveConfigs"), { lab: "/many" });
  expect(json.data).toMatchObject({ saved: keys.length, failed: 0 });
  expect(head()).toEqual(before);
});

test("Professional and PNETLab say that they cannot save", async () => {
  for (const edition of ["pro", "pnetlab"] as const) {
    await using eve = await eveFixture({ edition });
    await using served = await serve({ host: eve.host });
    const admin = await served.signIn("admin", "eve");
    await admin.post(path("deployProject"), { yaml: "name: saved\nnodes: {pc1: {template: vpcs, start: false}}\n" });
    const { json } = await admin.post(path("saveConfigs"), { lab: "/saved" });
    expect([edition, json.code, json.data]).toEqual([edition, "unsupported", { feature: "saveConfigs" }]);
  }
});

describe.skipIf(process.getuid?.() !== 0)("on the embedded host", () => {
  let local: TestLocalHost;
  let served: Served;
  let client: RawClient;
  beforeAll(async () => {
    local = await testLocalHost();
    served = await serve({ host: local.host });
    client = await served.signIn("admin", "test");
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    await local?.[Symbol.asyncDispose]();
  });

  test("an FRR router and a pc keep what was typed, the answer has it, and with it in the intent nothing is left to change", async () => {
    const yaml = `name: saved
nodes:
  r1: {template: frr, startup-config: "hostname r1\\ninterface lo\\n ip address 10.9.9.1/32\\n"}
  pc1: {template: pc}
  h1: {template: linux}
links:
  - ["pc1:eth0", "h1:eth0"]
`;
    const deployed = await client.post(path("deployProject"), { yaml });
    expect([deployed.status, deployed.json.error]).toEqual([200, undefined]);
    const type = async (node: string, command: string) => {
      const { json } = await client.post(path("execConsole"), { lab: "/saved", node, command });
      expect([node, command, json.ok]).toEqual([node, command, true]);
    };
    const isReady = async () => {
      const { live } = (await client.post(operations.getProjectStatus.path, { lab: "/saved" })).json.data;
      return live.nodes.find(({ node }: { node: string }) => node === "r1").ready;
    };
    await expect.poll(isReady, { timeout: 60_000 }).toBe(true);
    for (const line of ["configure terminal", "ip route 10.77.0.0/16 Null0", "end"]) await type("r1", line);
    await type("pc1", "ip 10.5.5.5/24");
    const { status, json } = await client.post(path("saveConfigs"), { lab: "/saved" });
    expect([status, json.data?.nodes]).toEqual([
      200,
      [
        { node: "h1", name: "h1", outcome: "skipped", code: "unsupported", error: expect.stringContaining("template linux") },
        { node: "pc1", name: "pc1", outcome: "saved", file: "pc1.cfg" },
        { node: "r1", name: "r1", outcome: "saved", file: "r1.cfg" },
      ],
    ]);
    expect(json.data.files["r1.cfg"]).toContain("ip route 10.77.0.0/16 Null0");
    expect(json.data.files["r1.cfg"]).toContain("10.9.9.1/32");
    expect(json.data.files["pc1.cfg"]).toContain("10.5.5.5");
    const files = json.data.files;
    const after = yaml
      .replace(/r1: .*/, "r1: {template: frr, startup-config: r1.cfg}")
      .replace("pc1: {template: pc}", "pc1: {template: pc, startup-config: pc1.cfg}");
    const plan = await client.post(path("planProject"), { yaml: after, files });
    expect(plan.json.data).toMatchObject({ actions: [], unsupported: [] });
  });
});
