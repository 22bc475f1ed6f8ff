import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { connect, type LabwrightClient } from "../../src/client/connect.ts";
import { testedProgram } from "../../src/files/tested-program.fixture.ts";
import { eveHost } from "../../src/hosts/eve/host.ts";
import type { FakeEveOptions } from "../fakes/eve/options.ts";
import { type FakeEve, startFakeEve } from "../fakes/eve/server.ts";
import { selfSigned } from "../self-signed.ts";
import { RawClient } from "./raw-client.ts";
import { serve as serveHost } from "./served.ts";

const yaml = `
name: pair
nodes:
  pc1: { kind: vpcs, startup-config: "ip 10.0.0.1/24\\n" }
  pc2: { kind: vpcs }
links:
  - endpoints: ["pc1:eth0", "pc2:eth0"]
`;
const project = { yaml, lab: "/pair", project_mode: "create" } as never;
const names = (fake: FakeEve) =>
  fake
    .running()
    .map(({ name }) => name)
    .sort();

let ends: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const end of ends.reverse()) await end();
  ends = [];
});

/** labwright serve --host eve on a fake host, and someone who is signed in there. */
async function serve(
  options: FakeEveOptions = {},
): Promise<{ readonly fake: FakeEve; readonly client: LabwrightClient; readonly warned: () => string }> {
  const fake = await startFakeEve({ latency: "none", templates: ["linux", "vpcs"], ...options });
  ends.push(async () => {
    await fake.close();
    expect(fake.defects).toEqual([]);
  });
  const stateDir = await mkdtemp(join(tmpdir(), "labwright-eve-"));
  ends.push(() => rm(stateDir, { recursive: true, force: true }));
  const main = testedProgram("server/main");
  const flags = ["--host", "eve", "--url", fake.url, "--host-plain-http", "--port", "0", "--state-dir", stateDir];
  const service: ChildProcess = spawn(process.execPath, [main, ...flags], { stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(service, "exit");
  ends.push(async () => {
    service.kill("SIGTERM");
    await ended;
  });
  let [seen, warned] = ["", ""];
  service.stdout?.on("data", (chunk: Buffer) => (seen += chunk));
  service.stderr?.on("data", (chunk: Buffer) => (warned += chunk));
  await expect.poll(() => seen, { timeout: 60_000 }).toMatch(/listens on (\S+) \(eve host\), certificate sha256:(\w+)/);
  const [, url = "", pin = ""] = /listens on (\S+) .*sha256:([\w:]+)/.exec(seen) ?? [];
  const client = connect({ url, pin, credentials: { username: "admin", password: "eve" } });
  ends.push(async () => client[Symbol.dispose]());
  return { fake, client, warned: () => warned };
}

describe.each(["ce5", "pro", "pnetlab"] as const)("labwright serve --host eve on %s", (edition) => {
  it("deploys a lab, reports its state to a hundred clients at once in three calls, runs a command on a console and destroys it", async () => {
    const { fake, client, warned } = await serve({ edition });
    expect(warned()).toContain("in the clear");
    await client.deployProject(project);
    expect(names(fake)).toEqual(["pc1", "pc2"]);
    const status = await client.getProjectStatus(project);
    expect(status).toMatchObject({ exists: true, live: { available: true, joined: true } });
    const run = await client.execConsole({ yaml, lab: "/pair", project_mode: "create", node: "pc1", command: "echo over telnet" } as never);
    expect(JSON.stringify(run)).toContain("over telnet");
    const heard = fake.calls.length;
    const began = performance.now();
    const poller = async () => {
      for (let i = 0; i < 2; i++) expect(await client.getProjectStatus(project)).toMatchObject({ live: { available: true } });
    };
    await Promise.all(Array.from({ length: 100 }, poller));
    // The service reads the host at most once in an interval, for all clients together.
    const intervals = Math.ceil((performance.now() - began) / 250) + 1;
    expect(fake.calls.slice(heard).length).toBeLessThanOrEqual(3 * intervals);

    await client.destroyProject(project);
    expect(fake.running()).toEqual([]);
    expect(fake.labFile("/pair.unl")).toBeUndefined();
  });
});

describe.each(["ce5", "ce6", "pro", "pnetlab"] as const)("trouble of a host of %s", (edition) => {
  it.each([
    ["/api/v1/projects/deploy", /^POST /, { yaml, lab: "/two" }],
    ["/api/v1/projects/destroy", /^DELETE|delete/, { lab: "/pair" }],
    ["/api/v1/projects/inspect", /labs|labs\/session/, { lab: "/pair", refresh: true }],
  ])("is reported by %s without paths of files on the host, which only the log has", async (path, call, body) => {
    const fake = await startFakeEve({ latency: "none", templates: ["linux", "vpcs"], edition });
    ends.push(() => fake.close());
    const served = await serveHost({ host: eveHost({ url: fake.url, plainHttp: true, warn: () => {} }) });
    ends.push(async () => served[Symbol.asyncDispose]());
    const client = await served.signIn("admin", "eve");
    expect((await client.post("/api/v1/projects/deploy", project)).status).toBe(200);
    fake.breakNext(call, "page before");
    const { status, text, json } = await client.post(path, body);
    expect([status, json.code, json.error]).toEqual([502, "host_error", expect.stringContaining(" in api.php")]);
    const jobs = await client.get("/api/v1/jobs");
    for (const seen of [text, jobs.text]) expect(seen).not.toMatch(/\/(opt|var|usr|tmp|home)\//);
    expect(served.log.join("")).toContain("/opt/unetlab/html/api.php");
  });
});

describe("inspect of a lab on EVE-NG", () => {
  it("has cpu, ram and position of each node as the host has them", async () => {
    const fake = await startFakeEve({ latency: "none", templates: ["linux", "vpcs"] });
    ends.push(() => fake.close());
    const served = await serveHost({ host: eveHost({ url: fake.url, plainHttp: true, warn: () => {} }) });
    ends.push(async () => served[Symbol.asyncDispose]());
    const client = await served.signIn("admin", "eve");
    const text = `name: sized
nodes:
  l1: {template: linux, cpu: 3, ram: 768, position: {x: 120, y: 340}, start: false}
  p1: {template: vpcs, position: {x: 7, y: 8}, start: false}
`;
    expect((await client.post("/api/v1/projects/deploy", { yaml: text, lab: "/sized" })).status).toBe(200);
    // As the host's own file has them.
    expect(fake.labFile("/sized.unl")).toMatch(/name="l1"[^>]*cpu="3"[^>]*ram="768"[^>]*left="120"[^>]*top="340"/);
    const { nodes } = (await client.post("/api/v1/projects/inspect", { lab: "/sized", refresh: true })).json.data;
    expect(nodes).toEqual([
      expect.objectContaining({ node: "l1", cpu: 3, ram: 768, position: { x: 120, y: 340 } }),
      expect.objectContaining({ node: "p1", cpu: expect.any(Number), ram: expect.any(Number), position: { x: 7, y: 8 } }),
    ]);
    for (const node of nodes) expect(node).not.toHaveProperty("placed");
    // Changed in the host's own pages.
    const file = fake.labFile("/sized.unl") ?? "";
    fake.putLabFile("/sized.unl", file.replace('ram="768"', 'ram="512"').replace('left="120"', 'left="121"'));
    const again = (await client.post("/api/v1/projects/inspect", { lab: "/sized", refresh: true })).json.data.nodes;
    expect(again[0]).toMatchObject({ cpu: 3, ram: 512, position: { x: 121, y: 340 } });
  });
});

describe("a lab whose file the host cannot read", () => {
  it.each([
    ["that the service knows", true],
    ["that others made", false],
  ])("%s is listed, shown with the host's words, and destroyed", async (_name, known) => {
    const fake = await startFakeEve({ latency: "none", templates: ["linux", "vpcs"], notices: "visible" });
    ends.push(async () => {
      await fake.close();
      expect(fake.defects).toEqual([]);
    });
    const served = await serveHost({ host: eveHost({ url: fake.url, plainHttp: true, warn: () => {} }) });
    ends.push(async () => served[Symbol.asyncDispose]());
    using client = connect({ url: served.url, pin: served.fingerprint, credentials: { username: "admin", password: "eve" } });
    const wanted = { ...(project as object), yaml: yaml.replaceAll("kind: vpcs", "kind: vpcs, start: false") } as never;
    if (known) await client.deployProject(wanted);
    expect(fake.running()).toEqual([]);
    const whole = fake.labFile("/pair.unl") ?? '<lab name="pair"><topology>';
    fake.putLabFile("/pair.unl", whole.slice(0, whole.indexOf("<topology>") + 12));
    expect((await client.listLabs()).labs).toMatchObject([{ lab: "/pair", exists: true }]);
    await expect(client.inspectProject({ lab: "/pair", refresh: true } as never)).rejects.toMatchObject({
      code: "host_error",
      message: expect.stringContaining("it is no valid XML (20003). Correct the file on the host, or destroy the lab"),
      data: { unreadable: true, hint: expect.stringContaining("labwright destroy") },
    });
    expect(await client.destroyProject({ lab: "/pair" } as never)).toMatchObject({ lab: "/pair" });
    expect(fake.labFile("/pair.unl")).toBeUndefined();
    expect((await client.listLabs()).labs).toEqual([]);
  });
});

describe("a host whose certificate is not vouched for", () => {
  it.each([
    ["without a pin", {}, "tls_untrusted"],
    ["with the pin of another", { pin: "ab".repeat(32) }, "tls_pin_mismatch"],
  ])("%s is named by sign-in, with its fingerprint and what to do", async (_name, pinned, code) => {
    const { key, cert, fingerprint } = selfSigned();
    const fake = await startFakeEve({ latency: "none", templates: [], tls: { key, cert } });
    ends.push(() => fake.close());
    const served = await serveHost({ host: eveHost({ url: fake.url, ...pinned }) });
    ends.push(async () => served[Symbol.asyncDispose]());
    using client = new RawClient(served.url);
    const answer = await client.post("/api/v1/login", { username: "admin", password: "eve" });
    expect([answer.status, answer.json.code, answer.json.data.fingerprint]).toEqual([502, code, fingerprint]);
    expect(answer.json.error).toContain(`start the service with --host-pin ${fingerprint}`);
    expect(fake.calls).toEqual([]);
  });

  it("is refused by the command before it starts where the pin is none", async () => {
    const main = testedProgram("server/main");
    const flags = [
      "--host",
      "eve",
      "--url",
      "https://eve.lab",
      "--host-pin",
      "5B:2C",
      "--state-dir",
      join(tmpdir(), "labwright-never-made"),
    ];
    const { status, stderr } = spawnSync(process.execPath, [main, ...flags], { encoding: "utf8" });
    expect([status, stderr]).toEqual([1, expect.stringContaining("--host-pin takes the SHA-256 fingerprint of the host's certificate")]);
    expect(existsSync(join(tmpdir(), "labwright-never-made"))).toBe(false);
  });
});

describe("labs of the host that were made elsewhere", () => {
  it("are imported as a copy with an id of its own; the source stays as it is, byte for byte, and runs on", async () => {
    const { fake, client } = await serve();
    await client.deployProject(project);
    const drawn =
      '<objects><pictures><picture id="1" name="map" type="image/png" width="1" height="1"><data>aGk=</data><map></map></picture></pictures></objects></lab>';
    const source = (fake.labFile("/pair.unl") ?? "").replace("</lab>", drawn);
    fake.putLabFile("/pair.unl", source);
    const { managed_lab: copy = "", yaml: text = "" } = await client.importProject({ lab: "/pair" } as never);
    expect(fake.labFile("/pair.unl")).toBe(source);
    expect(names(fake).filter((name) => name === "pc1")).not.toEqual([]);
    const uuid = (file: string | undefined) => /<lab [^>]*\bid="([^"]*)"/.exec(file ?? "")?.[1];
    expect(uuid(fake.labFile(`${copy}.unl`))).toMatch(/^[0-9a-f-]{36}$/);
    expect(uuid(fake.labFile(`${copy}.unl`))).not.toBe(uuid(source));
    expect(text).toContain("pc1");
  });
});

describe("authoring", () => {
  interface Recorded {
    readonly template: string;
    readonly type: string;
    readonly names: readonly string[] | Readonly<Record<string, string>>;
  }
  const recorded = readFileSync(new URL("../fakes/eve/recorded/interface-names.jsonl", import.meta.url), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Recorded);

  it("shows the interfaces that a real host gave to nodes of all of its templates, and offers those that are free", async () => {
    const { client } = await serve({ templates: recorded.map(({ template }) => template) });
    const shown = new Map<string, readonly string[]>();
    const expected = new Map<string, readonly string[]>();
    for (const { template, type, names: seen } of recorded) {
      const listed = Object.entries(seen).sort(([a], [b]) => order(type, Number(a)) - order(type, Number(b)));
      expected.set(
        template,
        listed.map(([, name]) => name),
      );
      const { items } = await client.previewInterfaces({ template, attributes: { ethernet: listed.length } } as never);
      shown.set(
        template,
        (items ?? []).map(({ name }) => name ?? ""),
      );
    }
    expect(Object.fromEntries(shown)).toEqual(Object.fromEntries(expected));

    const yaml =
      "name: a\nnodes: {r1: {template: vios}, s1: {template: viosl2}, i1: {template: iol}}\n" +
      'links: [["r1:Gi0/0", "s1:Gi0/3"], ["s1:Gi1/0", "i1:e0/0"]]\n';
    const free = async (node: string) => {
      const { items } = await client.completeLinkInterfaces({ yaml, node, excludeUsed: true } as never);
      return (items ?? []).slice(0, 4).map(({ name }) => name);
    };
    expect(await free("r1")).toEqual(["Gi0/1", "Gi0/2", "Gi0/3", "Gi0/4"]);
    expect(await free("s1")).toEqual(["Gi0/0", "Gi0/1", "Gi0/2", "Gi1/1"]);
    expect(await free("i1")).toEqual(["e0/1", "e0/2", "e0/3", "e1/0"]);
  });

  /** Of IOL x/y has the number x + 16 y. */
  const order = (type: string, id: number) => (type === "iol" ? (id % 16) * 16 + Math.floor(id / 16) : id);
});
