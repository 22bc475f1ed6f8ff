import { afterEach, describe, expect, it } from "vitest";
import { eveHost } from "../../src/hosts/eve/host.ts";
import { readUnl, writeUnl } from "../../src/hosts/eve/lab-file/unl.ts";
import { type FakeEve, startFakeEve } from "../fakes/eve/server.ts";
import type { RawClient } from "./raw-client.ts";
import { serve } from "./served.ts";

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const yaml = `name: pair
nodes:
  pc1: {template: vpcs, startup-config: "ip 10.0.0.1/24\\n"}
  pc2: {template: vpcs, position: {x: 7, y: 8}}
networks:
  lan: {name: "Büro & Flur", type: bridge}
links:
  - ["pc1:eth0", "lan"]
  - ["pc2:eth0", "lan"]
texts:
  - {text: "a & b", x: 1, y: 2}
`;

interface Asked {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers of many operations
  readonly json: any;
}

const errorsIn = ({ json }: Asked): readonly unknown[] =>
  json.data.diagnostics.filter(({ severity }: { readonly severity: string }) => severity === "error");

describe.each(["visible", "hidden"] as const)("a service on an EVE-NG host, PHP's notices %s", (notices) => {
  async function signedIn(): Promise<{ readonly fake: FakeEve; readonly ask: (path: string, body: object) => Promise<Asked> }> {
    const fake = await startFakeEve({ latency: "none", templates: ["vpcs"], notices });
    ends.push(async () => {
      await fake.close();
      expect(fake.defects).toEqual([]);
    });
    const served = await serve({ host: eveHost({ url: fake.url, plainHttp: true, warn: () => {}, timing: { pollMs: 10 } }) });
    ends.push(async () => served[Symbol.asyncDispose]());
    const client: RawClient = await served.signIn("admin", "eve");
    return { fake, ask: async (path, body) => client.post(`/api/v1/projects/${path}`, body) };
  }

  it("removes the folders that a deploy made, with the last lab in them, and no others", async () => {
    const { fake, ask } = await signedIn();
    fake.addFolder("/own");
    for (const lab of ["/own/day-1/a", "/own/day-1/b"]) expect((await ask("deploy", { yaml, lab })).status).toBe(200);
    expect(fake.folders()).toEqual(["/own", "/own/day-1"]);
    expect((await ask("destroy", { lab: "/own/day-1/a" })).status).toBe(200);
    expect(fake.folders()).toEqual(["/own", "/own/day-1"]);
    expect((await ask("destroy", { lab: "/own/day-1/b" })).status).toBe(200);
    expect(fake.folders()).toEqual(["/own"]);
  });

  it("removes the folders again if the lab was not made", async () => {
    const { fake, ask } = await signedIn();
    fake.breakNext(/POST \/api\/import/, "page before");
    expect((await ask("deploy", { yaml, lab: "/day-1/morning/a" })).status).toBeGreaterThanOrEqual(400);
    expect(fake.folders()).toEqual([]);
    expect((await ask("deploy", { yaml, lab: "/day-1/morning/a" })).status).toBe(200);
    fake.breakNext(/PUT \/api\/folders/, "page before");
    // The lab is gone, and so is its record: a folder that stays is not a reason to fail.
    expect((await ask("destroy", { lab: "/day-1/morning/a" })).status).toBe(200);
    expect(fake.folders()).toEqual(["/day-1", "/day-1/morning"]);
  });

  it("says that a copy lacks the drawings if the host breaks over them", async () => {
    const { fake, ask } = await signedIn();
    expect((await ask("deploy", { yaml, lab: "/pair" })).status).toBe(200);
    const made = readUnl(fake.labFile("/pair.unl") ?? "");
    fake.putLabFile("/pair.unl", writeUnl({ ...made, author: "Ann" }));
    fake.breakNext(/PUT \/api\/labs\/pair-import.unl$/, "page before");
    const { json } = await ask("import", { lab: "/pair" });
    expect(json).toMatchObject({ code: "host_error", error: expect.stringContaining("import it again with replace") });
    const manifest = "version: 1\nmode: import\nlab: /pair-import\n";
    const again = await ask("import", { lab: "/pair", manifest, replace: true });
    expect(again.json.data.source.report).toContainEqual({ path: "/", level: "kept", message: "the author" });
  });

  it("imports a lab with everything that was drawn into it, and the report names each part", async () => {
    const { fake, ask } = await signedIn();
    expect((await ask("deploy", { yaml, lab: "/pair" })).status).toBe(200);
    const made = readUnl(fake.labFile("/pair.unl") ?? "");
    const shape = Buffer.from('<div id="customShape2" data-path="2"><svg/></div>').toString("base64");
    fake.putLabFile(
      "/pair.unl",
      writeUnl({
        ...made,
        author: "Ann & Bob",
        body: "# Tasks",
        scripttimeout: 900,
        textObjects: [...made.textObjects, { id: 2, name: "box", type: "shape", data: shape }],
        pictures: [
          { id: 1, name: "map", type: "image/png", width: 1, height: 1, data: "aGk=", map: "<area href='telnet://{{IP}}:{{NODE2}}'>" },
        ],
      }),
    );
    const { status, json } = await ask("import", { lab: "/pair" });
    expect([status, json.code]).toEqual([200, undefined]);
    const { managed_lab: path, source } = json.data as { managed_lab: string; source: { report: { level: string; message: string }[] } };
    const report = source.report.map(({ level, message }) => `${level}: ${message}`);
    expect(report).toEqual(
      expect.arrayContaining([
        "kept: the author",
        "kept: the tasks",
        "kept: the script timeout",
        "kept: 1 shape",
        `mapped: the picture "map": its hotspots open the copy's nodes`,
      ]),
    );
    expect(report.filter((line) => line.startsWith("dropped"))).toEqual([
      "dropped: what nodes wrote to their disks: the copy's disks are new",
    ]);
    const copy = readUnl(fake.labFile(`${path}.unl`) ?? "");
    const pc2 = copy.nodes.find(({ name }) => name === "pc2")?.id;
    expect(copy).toMatchObject({ body: "# Tasks", scripttimeout: 900 });
    expect(copy.pictures[0]).toMatchObject({ data: "aGk=", map: `<area href='telnet://{{IP}}:{{NODE${pc2}}}'>` });
    const plan = await ask("plan", { lab: path });
    expect(plan.json.data.actions).toEqual([]);
  });

  it("pulls only the positions that somebody changed", async () => {
    const { fake, ask } = await signedIn();
    expect((await ask("deploy", { yaml, lab: "/pair" })).status).toBe(200);
    const pull = async (): Promise<{ yaml: string; status: string }> =>
      (await ask("reconcile", { lab: "/pair", yaml, direction: "from_host" })).json.data;
    expect(await pull()).toMatchObject({ yaml, status: "unchanged" });
    const made = readUnl(fake.labFile("/pair.unl") ?? "");
    fake.putLabFile(
      "/pair.unl",
      writeUnl({ ...made, nodes: made.nodes.map((node) => (node.name === "pc1" ? { ...node, left: 55, top: 66 } : node)) }),
    );
    const moved = await pull();
    expect(moved.yaml.match(/x: \d+/g)).toEqual(["x: 55", "x: 7", "x: 1"]);
    // The pull recorded the move. It still reaches the file of somebody who has not pulled yet.
    expect((await pull()).yaml).toBe(moved.yaml);
  });

  it("plans a pull of a node that somebody moved, as the pull writes it", async () => {
    const { fake, ask } = await signedIn();
    expect((await ask("deploy", { yaml, lab: "/pair" })).status).toBe(200);
    const planned = async () => (await ask("plan", { lab: "/pair", yaml, direction: "from_host" })).json.data;
    expect((await planned()).actions).toEqual([]);
    const made = readUnl(fake.labFile("/pair.unl") ?? "");
    const nodes = made.nodes.map((node) => (node.name === "pc1" ? { ...node, left: 55, top: 66 } : node));
    const networks = made.networks.map((network) => ({ ...network, left: 77, top: 88 }));
    fake.putLabFile("/pair.unl", writeUnl({ ...made, nodes, networks }));
    const { actions, summary, text } = await planned();
    const change = (x: number, y: number) => [{ field: "position", before: null, after: { x, y } }];
    expect(actions).toEqual([
      expect.objectContaining({ id: "network:lan", op: "update", changes: change(77, 88) }),
      expect.objectContaining({ id: "node:pc1", op: "update", changes: change(55, 66) }),
    ]);
    expect(summary).toMatchObject({ creates: 0, updates: 2, deletes: 0 });
    expect(text).toContain("position");
    const pulled = (await ask("reconcile", { lab: "/pair", yaml, direction: "from_host" })).json.data;
    const after = await ask("plan", { lab: "/pair", yaml: pulled.yaml, files: pulled.files, direction: "from_host" });
    expect(after.json.data.actions).toEqual([]);
  });

  it.each([
    ["an apply without changes", "reconcile", yaml],
    ["an apply of something else", "reconcile", `description: two computers\n${yaml}`],
    ["a renumber without clashes", "renumber", undefined],
  ])("%s keeps what somebody moved for the next pull", async (_title, call, text) => {
    const { fake, ask } = await signedIn();
    expect((await ask("deploy", { yaml, lab: "/pair" })).status).toBe(200);
    const made = readUnl(fake.labFile("/pair.unl") ?? "");
    const nodes = made.nodes.map((node) => (node.name === "pc1" ? { ...node, left: 55, top: 66 } : node));
    fake.putLabFile("/pair.unl", writeUnl({ ...made, nodes }));
    expect((await ask("exec", { lab: "/pair", action: "stop" })).status).toBe(200);
    expect((await ask(call, { lab: "/pair", ...(text !== undefined && { yaml: text }) })).status).toBe(200);
    const planned = await ask("plan", { lab: "/pair", yaml: text ?? yaml, direction: "from_host" });
    const change = { field: "position", before: null, after: { x: 55, y: 66 } };
    expect(planned.json.data.actions).toContainEqual(expect.objectContaining({ id: "node:pc1", changes: [change] }));
  });

  it("makes lab files of labs whose names have spaces, and takes them back without a complaint", async () => {
    const { fake, ask } = await signedIn();
    fake.addFolder("/Hand Labs");
    fake.addFolder("/courses");
    const nodes = '<node id="1" name="pc" type="vpcs" template="vpcs" ethernet="1" config="0" left="9" top="9"/>';
    fake.putLabFile(
      "/Hand Labs/Hand Made.unl",
      `<?xml version="1.0"?><lab name="Hand Made" id="0b4f0c5e-8c0f-4ef5-9a55-3c1d8f2c9a01" version="1"><topology><nodes>${nodes}</nodes><networks/></topology></lab>`,
    );
    const drawn = "/Hand Labs/Hand Made";
    const loaded = await ask("reconcile", { lab: drawn, direction: "from_host" });
    expect([loaded.status, loaded.json.data?.yaml]).toEqual([200, expect.stringMatching(/^name: Hand-Made$/m)]);
    const valid = await ask("validate", { lab: drawn, yaml: loaded.json.data.yaml });
    expect([valid.status, valid.json.data.warnings]).toEqual([200, []]);
    const validAlone = await ask("validate", { yaml: loaded.json.data.yaml });
    expect([validAlone.status, validAlone.json.data.warnings]).toEqual([200, []]);

    const manifest = "version: 1\nmode: import\nlab: /courses/ex 1\n";
    const copy = await ask("import", { lab: drawn, manifest });
    expect([copy.status, copy.json.data?.yaml]).toEqual([200, expect.stringMatching(/^name: ex-1$/m)]);
    expect(JSON.stringify(copy.json.data.source.report)).not.toContain("ex-1.name");
    const of = { lab: "/courses/ex 1", yaml: copy.json.data.yaml };
    const planned = await ask("plan", of);
    expect(planned.json.data).toMatchObject({ applicable: true, unsupported: [], actions: [] });
    expect((await ask("reconcile", { ...of, direction: "from_host" })).json.data).toMatchObject({ status: "unchanged", yaml: of.yaml });
    const other = await ask("validate", { ...of, yaml: of.yaml.replace("ex-1", "elsewhere") });
    expect(JSON.stringify(other.json.data.warnings)).toContain("elsewhere.name is not supported");
  });

  it("says of 128 nodes at validate, plan and deploy that a lab has 127 at most", async () => {
    const { fake, ask } = await signedIn();
    const many = (count: number) =>
      `name: many\nnodes:\n${Array.from({ length: count }, (_, i) => `  n${i}: {template: vpcs, start: false}\n`).join("")}`;
    expect((await ask("validate", { yaml: many(127) })).status).toBe(200);
    const text = expect.stringContaining("the lab would have 128 nodes, and a lab of this host has at most 127");
    const validated = await ask("validate", { yaml: many(128) });
    expect([validated.status, errorsIn(validated)]).toEqual([422, [expect.objectContaining({ code: "too_many_nodes", message: text })]]);
    const planned = await ask("plan", { yaml: many(128), lab: "/many" });
    expect(planned.json.data).toMatchObject({ applicable: false, blocked: [{ reason: { code: "too_many_nodes", text } }] });
    expect((await ask("deploy", { yaml: many(128), lab: "/many" })).json).toMatchObject({ code: "invalid_intent" });
    expect(fake.labFile("/many.unl")).toBeUndefined();
    // Nodes that only the host has count, too.
    expect((await ask("deploy", { yaml: many(127), lab: "/many" })).status).toBe(200);
    const other = many(1).replace("n0", "other");
    expect((await ask("plan", { yaml: other, lab: "/many" })).json.data.applicable).toBe(false);
    expect((await ask("plan", { yaml: other, lab: "/many", prune: true })).json.data.applicable).toBe(true);
  });

  it("refuses a number of interfaces that a VPCS cannot have", async () => {
    const { ask } = await signedIn();
    const wired = (ethernet: number) => yaml.replace("pc1: {template: vpcs,", `pc1: {template: vpcs, ethernet: ${ethernet},`);
    for (const path of ["validate", "deploy"]) {
      const answer = await ask(path, { yaml: wired(2), ...(path === "deploy" && { lab: "/pair" }) });
      expect([answer.status, errorsIn(answer)]).toEqual([
        422,
        [
          expect.objectContaining({
            code: "bad_value",
            line: 3,
            message: 'node pc1: ethernet is 2, but a VPCS has one interface; remove "ethernet"',
          }),
        ],
      ]);
    }
    expect((await ask("deploy", { yaml: wired(1), lab: "/pair" })).status).toBe(200);
    const planned = await ask("plan", { yaml: wired(2), lab: "/pair" });
    expect(planned.json.data).toMatchObject({
      applicable: false,
      unsupported: expect.arrayContaining(["pc1.ethernet: a VPCS has one interface"]),
    });
  });
});
