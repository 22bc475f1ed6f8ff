import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { connect } from "../../src/client/connect.ts";
import { testedProgram } from "../../src/files/tested-program.fixture.ts";
import { eveHost } from "../../src/hosts/eve/host.ts";
import { startFakeEve } from "../fakes/eve/server.ts";
import { selfSigned } from "../self-signed.ts";
import { eveServices, names, project, serviceOnEditions, yaml } from "./eve-service.fixture.ts";
import { RawClient } from "./raw-client.ts";
import { serve as serveHost } from "./served.ts";

const { serve, ends } = eveServices();

// The editions that differ most from each other; the others: eve-editions.extended.test.ts.
serviceOnEditions(["ce5"], ["pnetlab"]);

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
      message: expect.stringContaining("it is not valid XML (20003). Correct the file on the host, or destroy the lab"),
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
