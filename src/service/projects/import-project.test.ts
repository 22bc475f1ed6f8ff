import { afterEach, describe, expect, test } from "vitest";
import type { ImportData } from "../../contract/schemas/project.ts";
import type { ProjectModeCaps } from "../../contract/schemas/session.ts";
import { readIntent } from "../../intent/read/read.ts";
import { type Bench, type Client, createBench, failureOf, pair, three, until } from "../service.fixture.ts";
import { definitionDigest, type ImportSource } from "./import-project.ts";

const benches: Bench[] = [];
function bench(options: Parameters<typeof createBench>[0] = {}): Bench {
  const made = createBench(options);
  benches.push(made);
  return made;
}
afterEach(async () => {
  for (const { service, host } of benches.splice(0)) {
    await service.close();
    await host.close();
  }
});

const rich = `# the source
name: pair
description: two of them
nodes:
  r1: {template: frr, name: R 1, startup-config: r1.conf, position: {x: 1, y: 2}}
  r2: {template: frr} # the second
networks:
  lan: {type: bridge}
links:
  - {endpoints: ["r1:eth1", "r2:eth1"], quality: {delay: 5}}
  - ["r2:eth0", "lan"]
texts: [{text: hello, x: 0, y: 0}]
traffic_filters: [{name: ospf, match: ip proto 89}]
`;
const files = { "r1.conf": "hostname r1\n" };

async function imported(client: Client, lab = "/pair"): Promise<ImportData> {
  return (await client.call("importProject", { lab })) as ImportData;
}

describe("import", () => {
  test("clones a managed lab beside it, stopped, and leaves the source alone", async () => {
    const made = bench();
    const ann = await made.login();
    await ann.call("deployProject", { yaml: rich, files });
    const host = (await made.host.resume!("ann"))!;
    const before = (await host.observe("/pair"))!;
    const answer = await imported(ann);
    expect(answer).toMatchObject({
      mode: "import",
      source_lab: "/pair",
      managed_lab: "/pair-import",
      lab: "/pair-import",
      name: "pair-import",
    });
    expect(definitionDigest((await host.observe("/pair"))!)).toBe(definitionDigest(before));
    expect((await host.observe("/pair"))!.nodes.map(({ power }) => power)).toEqual(before.nodes.map(({ power }) => power));

    expect(answer.yaml).toContain("# the second");
    expect(answer.files).toEqual(files);
    const { yaml, files: sent, state, manifest } = answer;
    const plan = await ann.call("planProject", { yaml: yaml!, files: sent!, state, manifest: manifest! });
    expect(plan).toMatchObject({ lab: "/pair-import", actions: [] });
    const { live, mode } = await ann.call("getProjectStatus", { lab: "/pair-import" });
    expect(mode).toBe("import");
    expect(live?.nodes?.map(({ node, status }) => [node, status])).toEqual([
      ["r1", "stopped"],
      ["r2", "stopped"],
    ]);
    const [copy, source] = [await host.observe("/pair-import"), before];
    expect(copy!.links.map(({ quality }) => quality)).toEqual(source.links.map(({ quality }) => quality));
    expect([copy!.texts, copy!.trafficFilters, copy!.description]).toEqual([source.texts, source.trafficFilters, source.description]);
  });

  test("returns the source of the lab and a report on each part", async () => {
    const made = bench();
    const ann = await made.login();
    await ann.call("deployProject", { yaml: rich, files });
    const host = (await made.host.resume!("ann"))!;
    const { source } = (await imported(ann)) as { source: ImportSource };
    expect(source).toMatchObject({ format: "memory", lab: "/pair", host: { kind: "memory", url: "memory:" } });
    expect(source.imported_at).toMatch(/^2026-01-01T/);
    expect(source.digest).toBe(definitionDigest((await host.observe("/pair"))!));
    const levels = Object.fromEntries(source.report.map(({ path, level }) => [path, level]));
    expect(levels).toMatchObject({
      "/name": "mapped",
      "/nodes/r1": "mapped",
      "/nodes/r1/startup-config": "kept",
      "/nodes/r2": "kept",
      "/networks/lan": "kept",
      "/links/0": "kept",
      "/links/1": "kept",
      "/texts": "kept",
      "/traffic_filters": "kept",
    });
    expect(source.report.filter(({ level }) => level === "dropped").map(({ path }) => path)).toEqual(["/nodes"]);
    expect(source.report.find(({ path }) => path === "/nodes/r2")?.line).toBe(6);
    const back = await ann.call("reconcileProject", { lab: "/pair-import", direction: "from_host" });
    expect(back).toMatchObject({ source: { digest: source.digest } });
  });

  test("of a lab that is not managed here prints its intent", async () => {
    const made = bench({ ownLabs: true });
    const ann = await made.login();
    await ann.call("deployProject", { yaml: rich, files });
    made.store.labs.delete("/pair");
    const answer = await imported(ann);
    const lab = readIntent(answer.yaml!, answer.files!).lab!;
    expect(lab.nodes.map(({ key, startupConfig }) => [key, startupConfig])).toEqual([
      ["R-1", "hostname r1\n"],
      ["r2", undefined],
    ]);
    expect((await ann.call("planProject", { lab: "/pair-import" })).actions).toEqual([]);
    // The source is as it was: still not managed.
    expect(made.store.labs.get("/pair")).toBeUndefined();
  });

  test("finds a free path each time, and takes the manifest's where it names one", async () => {
    const ann = await bench().login();
    await ann.call("deployProject", { yaml: pair });
    expect([await imported(ann), await imported(ann)].map(({ managed_lab }) => managed_lab)).toEqual(["/pair-import", "/pair-import-2"]);
    const manifest = "version: 1\nmode: import\nlab: /copies/mine\n";
    expect(await ann.call("importProject", { lab: "/pair", manifest })).toMatchObject({ managed_lab: "/copies/mine", name: "mine" });
    expect((await failureOf(ann.call("importProject", { lab: "/pair", manifest }))).code).toBe("lab_exists");
    await ann.call("reconcileProject", { yaml: three, lab: "/copies/mine" });
    expect(await ann.call("importProject", { lab: "/pair", manifest, replace: true })).toMatchObject({ managed_lab: "/copies/mine" });
    expect((await ann.call("inspectProject", { lab: "/copies/mine" })).nodes).toHaveLength(2);
    const onItself = { lab: "/pair", manifest: "version: 1\nlab: /pair\n", replace: true };
    expect((await failureOf(ann.call("importProject", onItself))).code).toBe("bad_request");
    const long = `/${"a".repeat(64)}`;
    await ann.call("deployProject", { yaml: pair, lab: long });
    expect((await imported(ann, long)).managed_lab).toBe(`/${"a".repeat(57)}-import`);
  });

  test("ignores the client's own project", async () => {
    const ann = await bench().login();
    await ann.call("deployProject", { yaml: pair });
    const body = { lab: "/pair", yaml: "this is not a lab", files: { a: "b" }, state: { version: 9 }, source: 5 };
    expect(await ann.call("importProject", body)).toMatchObject({ managed_lab: "/pair-import" });
    expect((await failureOf(ann.call("importProject", { lab: "/pair", dir: "/tmp" }))).code).toBe("field_not_allowed");
  });

  test("respects the rights on source and copy", async () => {
    const made = bench();
    const [ann, bob, viewer] = [await made.login(), await made.login("bob"), await made.login("eve")];
    await ann.call("deployProject", { yaml: pair });
    expect((await failureOf(bob.call("importProject", { lab: "/pair" }))).code).toBe("lab_not_found");
    expect((await failureOf(ann.call("importProject", { lab: "/none" }))).code).toBe("lab_not_found");
    expect((await failureOf(viewer.call("importProject", { lab: "/pair" }))).code).toBe("operation_not_allowed");
    await ann.call("setLabGrants", { lab: "/pair", grants: [{ user: "bob", right: "view" }] });
    expect(await bob.call("importProject", { lab: "/pair" })).toMatchObject({ managed_lab: "/pair-import" });
    expect(made.store.labs.get("/pair-import")).toMatchObject({ owner: "bob", mode: "import" });
    expect((await failureOf(ann.call("inspectProject", { lab: "/pair-import" }))).code).toBe("lab_not_found");
  });

  test("discloses neither secrets nor comments of the source to a user who may only view it", async () => {
    const made = bench();
    const [ann, bob] = [await made.login(), await made.login("bob")];
    const shareTo = (right: "view" | "edit") => ann.call("setLabGrants", { lab: "/pair", grants: [{ user: "bob", right }] });
    await ann.call("deployProject", { yaml: `# the way in: hush\n${pair}` });
    await shareTo("view");
    const copy = (await bob.call("importProject", { lab: "/pair" })) as { readonly yaml: string };
    expect(copy.yaml).toContain("r2");
    expect(JSON.stringify(copy)).not.toContain("hush");
    await ann.call("deployProject", {
      yaml: pair.replace("r1: {template: frr}", "r1: {template: frr, env: {TOKEN: hush}}"),
      replace: true,
    });
    const refused = await failureOf(bob.call("importProject", { lab: "/pair" }));
    expect([refused.code, refused.message]).toEqual(["operation_not_allowed", expect.not.stringContaining("hush")]);
    expect(made.store.labs.get("/pair-import-2")).toBeUndefined();
    await shareTo("edit");
    expect(await bob.call("importProject", { lab: "/pair" })).toMatchObject({ yaml: expect.stringContaining("hush") });
  });

  test("waits for no change of the source", async () => {
    const made = bench();
    const ann = await made.login();
    let release = () => {};
    const held = new Promise<void>((settle) => {
      release = settle;
    });
    made.step = (_lab, { step }) => (step.do === "create-node" ? held : undefined);
    const deploy = ann.call("deployProject", { yaml: pair });
    await until(async () => ((await made.store.jobs.unfinished())[0]?.steps.length ?? 0) > 0);
    expect((await failureOf(ann.call("importProject", { lab: "/pair" }))).code).toBe("lab_busy");
    release();
    await deploy;
  });

  test("that a crash cuts off is finished after the restart", async () => {
    const made = bench({ closeWaitMs: 50 });
    const ann = await made.login();
    await ann.call("deployProject", { yaml: pair });
    made.step = (lab, { step }) => (lab === "/pair-import" && step.do === "create-link" ? new Promise(() => {}) : undefined);
    const { job } = (await ann.call("importProject", { lab: "/pair" }, { respondAsync: true })) as { job: string };
    await until(async () => ((await made.store.jobs.get(job))?.done ?? 0) > 0);
    made.step = () => {};
    const after = made.restart();
    await after.service.recover();
    const again = await after.login();
    const ended = await again.get("getJob", { id: job });
    expect(ended).toMatchObject({
      status: "done",
      outcome: "finished_after_restart",
      result: { managed_lab: "/pair-import", mode: "import" },
    });
    expect(made.store.labs.get("/pair-import")).toMatchObject({ mode: "import", source: { lab: "/pair" } });
    expect((await again.call("planProject", { lab: "/pair-import" })).actions).toEqual([]);
  });
});

describe("the service allows exactly the operations that the capabilities list for a project mode", () => {
  type Cell = Exclude<keyof ProjectModeCaps, "stopModes" | "open" | "capture" | "traffic">;
  const other = three;
  const cells: Readonly<Record<Cell, (client: Client, lab: string, manifest: string) => Promise<unknown>>> = {
    validate: (client, lab, manifest) => client.call("validateProject", { lab, manifest, yaml: other }),
    plan: (client, lab, manifest) => client.call("planProject", { lab, manifest, yaml: other }),
    status: (client, lab, manifest) => client.call("getProjectStatus", { lab, manifest }),
    inspect: (client, lab, manifest) => client.call("inspectProject", { lab, manifest }),
    consoles: (client, lab, manifest) => client.call("listProjectConsoles", { lab, manifest }),
    reconcileFromHost: (client, lab, manifest) => client.call("reconcileProject", { lab, manifest, direction: "from_host" }),
    start: (client, lab, manifest) => client.call("execProject", { lab, manifest, action: "start" }),
    stop: (client, lab, manifest) => client.call("execProject", { lab, manifest, action: "stop" }),
    wipe: (client, lab, manifest) => client.call("execProject", { lab, manifest, action: "wipe" }),
    quality: (client, lab, manifest) =>
      client.call("applyLinkQuality", { lab, manifest, endpoints: ["r1:eth1", "r2:eth1"], a: { delay: 1 } }),
    suspend: (client, lab, manifest) =>
      client.call("setLinkSuspend", { lab, manifest, endpoints: ["r1:eth1", "r2:eth1"], suspended: true }),
    edit: (client, lab, manifest) => client.call("editProject", { lab, manifest, section: "description", value: "x" }),
    reconcileToHost: (client, lab, manifest) => client.call("reconcileProject", { lab, manifest, yaml: other }),
    deploy: (client, lab, manifest) => client.call("deployProject", { lab, manifest, yaml: other, replace: true }),
    destroy: (client, lab, manifest) => client.call("destroyProject", { lab, manifest }),
  };

  test.each(["create", "import", "load", "load without a record"])("%s", async (which) => {
    const made = bench({ ownLabs: true });
    const ann = await made.login();
    await ann.call("deployProject", { yaml: pair });
    if (which === "import") await imported(ann);
    if (which === "load without a record") made.store.labs.delete("/pair");
    const mode = which.split(" ")[0]!;
    const lab = which === "import" ? "/pair-import" : "/pair";
    const { projectModes } = await ann.get("getCapabilities");
    const caps = projectModes![mode]!;
    for (const [cell, call] of Object.entries(cells) as [Cell, (typeof cells)[Cell]][]) {
      const done = call(ann, lab, `version: 1\nmode: ${mode}\nlab: ${lab}\n`);
      if (caps[cell]) await expect(done, cell).resolves.toBeDefined();
      else expect((await failureOf(done)).code, cell).toBe("operation_not_allowed");
    }
    if (mode === "load") {
      expect(caps).toMatchObject({ deploy: false, destroy: false, edit: false, stopModes: [], status: true, inspect: true });
      expect((await (await made.host.resume!("ann"))!.observe("/pair"))?.nodes.map(({ power }) => power)).toEqual(["running", "running"]);
    } else {
      expect(Object.values(caps).filter((cell) => cell === false)).toHaveLength(["open", "capture", "traffic"].length);
    }
  });

  test("a loaded project may send yaml, files and state; they are neither needed nor refused", async () => {
    const made = bench();
    const ann = await made.login();
    await ann.call("deployProject", { yaml: pair });
    const manifest = "version: 1\nmode: load\nlab: /pair\n";
    for (const extra of [
      {},
      { yaml: "no: lab: at all", state: { version: 7 } },
      { yaml: pair, files: { a: "b" } },
      { yaml: pair, files: { "../a": "b" } },
    ]) {
      expect(await ann.call("getProjectStatus", { manifest, ...extra })).toMatchObject({ lab: "/pair", mode: "load", exists: true });
      expect(await ann.call("inspectProject", { manifest, refresh: true, ...extra })).toMatchObject({ lab: "/pair", mode: "load" });
    }
    const plan = await ann.call("planProject", { manifest, direction: "from_host" });
    expect(plan).toMatchObject({ applicable: true, operations: [] });
    expect((await failureOf(ann.call("validateProject", { manifest, yaml: "nodes: 5" }))).code).toBe("invalid_intent");
  });
});
