import { afterEach, expect, test } from "vitest";
import { Failure } from "../../contract/errors.ts";
import type { Host, HostSession } from "../../hosts/host.ts";
import { memoryHost } from "../../hosts/memory/memory-host.ts";
import { memoryTemplates } from "../../hosts/memory/memory-template.ts";
import { type Bench, createBench, failureOf, pair, three, users } from "../service.fixture.ts";

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

/** A memory host whose sessions are changed by `change`. */
function changedHost(change: (session: HostSession) => Partial<HostSession>): Host {
  const host = memoryHost({ users });
  const wrap = (session: HostSession): HostSession => ({ ...session, ...change(session) });
  return { ...host, login: async (...args) => wrap(await host.login(...args)) };
}

/** A host whose nodes cannot be asked while it is away. */
function sometimesAway(away: { readonly now: boolean }) {
  return changedHost((session) => ({
    status: async (lab) => {
      if (away.now) throw new Failure("host_unreachable", "away");
      return session.status(lab);
    },
  }));
}

const unread = { available: false, error: { code: "host_unreachable", error: "away" } };

test("the host is read once per interval for any number of pollers", async () => {
  let reads = 0;
  const host = changedHost((session) => ({
    status: (lab) => {
      reads += 1;
      return session.status(lab);
    },
  }));
  const made = bench({ host });
  const ann = await made.login();
  await ann.call("deployProject", { yaml: pair });
  await Promise.all(Array.from({ length: 50 }, () => ann.call("getProjectStatus", { lab: "/pair" })));
  expect(reads).toBe(1);
  made.time.now += 250;
  await ann.call("getProjectStatus", { lab: "/pair" });
  expect(reads).toBe(2);
});

test("status, inspect and consoles of a named node show only it and its links; an unknown node is node_not_found", async () => {
  const away = { now: false };
  const made = bench({ host: sometimesAway(away) });
  const ann = await made.login();
  const lab = "/pair";
  const loss = '{endpoints: ["r1:eth1", "r2:eth1"], quality: {loss: 1}}';
  const yaml = three
    .replace('["r1:eth1", "r2:eth1"]', loss)
    .replace("links:", 'networks: {lan: {type: bridge}}\nlinks:\n  - ["r3:eth5", "lan"]');
  await ann.call("deployProject", { yaml });
  const status = async (chosen: object) => {
    const { live } = await ann.call("getProjectStatus", { lab, ...chosen });
    return [live?.nodes?.map(({ node }) => node), live?.netem?.map(({ link }) => link)];
  };
  const inspect = async (chosen: object) => {
    const { nodes, links, networks } = await ann.call("inspectProject", { lab, ...chosen });
    return [nodes.map(({ node }) => node), links.map(({ key }) => key), networks.map(({ key }) => key)];
  };
  const consoles = async (chosen: object) => (await ann.call("listProjectConsoles", { lab, ...chosen })).consoles?.map(({ node }) => node);
  const all = ["r1", "r2", "r3"];
  for (const chosen of [{}, { node: "" }, { nodes: all }, { node: "r1", nodes: ["r2", "r3"] }]) {
    expect(await status(chosen)).toEqual([all, ["r1:eth1 -- r2:eth1"]]);
    expect(await inspect(chosen)).toEqual([all, ["lan -- r3:eth5", "r1:eth1 -- r2:eth1", "r2:eth2 -- r3:eth1"], ["lan"]]);
    expect(await consoles(chosen)).toEqual(all);
  }
  expect(await status({ node: "r1" })).toEqual([["r1"], ["r1:eth1 -- r2:eth1"]]);
  expect(await status({ node: "r3" })).toEqual([["r3"], []]);
  // The first fills the cache; the second is answered from it.
  expect(await inspect({ node: "r3", refresh: true })).toEqual([["r3"], ["lan -- r3:eth5", "r2:eth2 -- r3:eth1"], ["lan"]]);
  expect(await inspect({ node: "r1" })).toEqual([["r1"], ["r1:eth1 -- r2:eth1"], []]);
  expect(await consoles({ node: "r2" })).toEqual(["r2"]);
  expect([await status({ nodes: [] }), await consoles({ nodes: [] })]).toEqual([[[], []], []]);
  for (const id of ["getProjectStatus", "inspectProject", "listProjectConsoles"] as const) {
    expect((await failureOf(ann.call(id, { lab, node: "nobody" }))).code, id).toBe("node_not_found");
    expect((await failureOf(ann.call(id, { lab, nodes: ["r1", "nobody"] }))).code, id).toBe("node_not_found");
  }
  // A failed read does not prove that a node is missing.
  away.now = true;
  made.time.now += 1_000;
  expect((await ann.call("getProjectStatus", { lab, node: "r1" })).live).toEqual(unread);
});

test("a failed live read is an answer: available false with the reason, and no rows", async () => {
  const away = { now: false };
  const made = bench({ host: sometimesAway(away) });
  const ann = await made.login();
  await ann.call("deployProject", { yaml: pair });
  away.now = true;
  expect(await ann.call("getProjectStatus", { lab: "/pair" })).toMatchObject({ exists: true, live: { available: false } });
  expect((await ann.call("getProjectStatus", { lab: "/pair" })).live).toEqual(unread);
});

test("a managed lab that the host has lost exists no more, and has no live part", async () => {
  const made = bench();
  const ann = await made.login();
  await ann.call("deployProject", { yaml: pair });
  const other = createBench({ store: made.store });
  const again = await other.login();
  const status = await again.call("getProjectStatus", { lab: "/pair" });
  expect(status).toMatchObject({ lab: "/pair", exists: false });
  expect(status).not.toHaveProperty("live");
  await other.host.close();
});

test("live rows lie over the structure by native id, node by node", async () => {
  const made = bench();
  const ann = await made.login();
  await ann.call("deployProject", { yaml: three });
  await ann.call("execProject", { lab: "/pair", action: "stop", node: "r2" });
  const { nodes } = await ann.call("inspectProject", { lab: "/pair" });
  const { live } = await ann.call("getProjectStatus", { lab: "/pair" });
  const rows = new Map((live?.nodes ?? []).map((row) => [row.id, row]));
  expect(nodes.length).toBe(3);
  expect(nodes.map(({ id }) => rows.get(id))).toMatchObject(nodes.map(({ id, node, name, status }) => ({ id, node, name, status })));
});

test("rows that the intent does not know are not joined", async () => {
  const made = bench();
  const ann = await made.login();
  await ann.call("deployProject", { yaml: three });
  const { live } = await ann.call("getProjectStatus", { yaml: pair, lab: "/pair" });
  expect(live?.joined).toBe(false);
  expect(live?.nodes?.map(({ node, name }) => [node, name])).toEqual([
    ["r1", "r1"],
    ["r2", "r2"],
    [null, "r3"],
  ]);
});

test("inspect is kept per session until refresh or a change", async () => {
  const made = bench();
  const ann = await made.login();
  await ann.call("deployProject", { yaml: pair });
  const first = await ann.call("inspectProject", { lab: "/pair" });
  expect(first.cached).toBe(false);
  made.time.now += 1000;
  expect(await ann.call("inspectProject", { lab: "/pair" })).toEqual({ ...first, cached: true });
  expect(await ann.call("inspectProject", { lab: "/pair", refresh: false })).toMatchObject({ cached: true });
  expect((await ann.call("inspectProject", { lab: "/pair", refresh: true })).taken_at).not.toBe(first.taken_at);
  const other = await made.login();
  expect((await other.call("inspectProject", { lab: "/pair" })).cached).toBe(false);
  await ann.call("execProject", { lab: "/pair", action: "stop", node: "r1" });
  const changed = await ann.call("inspectProject", { lab: "/pair" });
  expect(changed).toMatchObject({ cached: false, nodes: [{ status: "stopped" }, { status: "running" }] });
});

test("the inspect cache is based on the recorded intent: a sent intent affects only its caller's answer", async () => {
  const made = bench();
  const ann = await made.login();
  const { state } = (await ann.call("deployProject", { yaml: pair })) as { readonly state?: unknown };
  const keys = async (extra: object) => (await ann.call("inspectProject", { lab: "/pair", ...extra })).nodes.map(({ node }) => node);
  const renamed = pair.replaceAll("r1", "x1");
  expect(await keys({ yaml: renamed })).not.toContain("r1");
  expect(await keys({})).toEqual(["r1", "r2"]);
  expect(await keys({ yaml: renamed, state })).not.toContain("r1");
  expect(await keys({})).toEqual(["r1", "r2"]);
  const manifest = "version: 1\nmode: load\n";
  expect(await ann.call("inspectProject", { lab: "/pair", manifest })).toMatchObject({ cached: true, mode: "load" });
  expect(await ann.call("inspectProject", { lab: "/pair" })).toMatchObject({ cached: true, mode: "create" });
});

test("an inspect whose live read failed has the structure, and is not kept", async () => {
  let fails = false;
  const host = changedHost((session) => ({
    status: async (path) => {
      if (fails) throw new Failure("host_unreachable", "away");
      return session.status(path);
    },
  }));
  const ann = await bench({ host }).login();
  await ann.call("deployProject", {
    yaml: pair.replace('["r1:eth1", "r2:eth1"]', '{endpoints: ["r1:eth1", "r2:eth1"], quality: {delay: 5}}'),
  });
  fails = true;
  const half = await ann.call("inspectProject", { lab: "/pair" });
  expect([half.nodes.length, half.links[0]?.quality]).toEqual([2, undefined]);
  fails = false;
  const whole = await ann.call("inspectProject", { lab: "/pair" });
  expect([whole.cached, whole.links[0]?.quality?.a?.delay]).toEqual([false, 5]);
  expect((await ann.call("inspectProject", { lab: "/pair" })).cached).toBe(true);
});

test("an inspect that a change overtakes is not kept", async () => {
  let [reached, go] = [() => {}, () => {}];
  let holds = false;
  const host = changedHost((session) => ({
    status: async (path) => {
      if (holds) {
        holds = false;
        reached();
        await new Promise<void>((settle) => {
          go = settle;
        });
      }
      return session.status(path);
    },
  }));
  const made = bench({ host });
  const ann = await made.login();
  await ann.call("deployProject", { yaml: pair });
  const reading = new Promise<void>((settle) => {
    reached = settle;
  });
  holds = true;
  const overtaken = ann.call("inspectProject", { lab: "/pair" });
  await reading;
  await ann.call("execProject", { lab: "/pair", action: "stop", node: "r1" });
  go();
  expect((await overtaken).nodes.map(({ status }) => status)).toEqual(["running", "running"]);
  const now = await ann.call("inspectProject", { lab: "/pair" });
  expect([now.cached, now.nodes.map(({ status }) => status)]).toEqual([false, ["stopped", "running"]]);
});

test("inspect shows attachment points with their peers", async () => {
  const made = bench();
  const ann = await made.login();
  const yaml = 'name: lan\nnodes: {h1: {template: linux}}\nnetworks: {net: {type: bridge}}\nlinks: [["h1:eth0", "net"]]\n';
  await ann.call("deployProject", { yaml });
  const { nodes, networks, links } = await ann.call("inspectProject", { lab: "/lan" });
  expect(nodes[0]?.interfaces[0]).toMatchObject({
    name: "eth0",
    index: 0,
    network: "net",
    peer: "net",
    link: "h1:eth0 -- net",
    suspended: false,
  });
  expect(networks).toMatchObject([{ key: "net", type: "bridge" }]);
  expect(links).toMatchObject([{ key: "h1:eth0 -- net", endpoints: ["h1:eth0", "net"], kind: "network" }]);
});

test("a feature is true only if both host and service support it", async () => {
  const made = bench();
  const ann = await made.login();
  const { features, projectModes, hostReachable } = await ann.get("getCapabilities");
  expect(hostReachable).toBe(true);
  const off = ["capture", "traffic", "webUi", "checkpoints"];
  for (const feature of off) expect(features?.[feature], feature).toBe(false);
  for (const feature of ["linkQuality", "linkSuspend", "wipe", "consoleStream", "consoleRun", "jobs"])
    expect(features?.[feature], feature).toBe(true);
  expect(projectModes?.["create"]).toMatchObject({
    deploy: true,
    start: true,
    wipe: true,
    quality: true,
    suspend: true,
    stopModes: [0, 1, 2, 3],
  });
  expect(projectModes?.["load"]).toMatchObject({ deploy: false, start: false, reconcileFromHost: true, inspect: true, stopModes: [] });
  const calls = [
    ["openProject", "webUi"],
    ["startCapture", "capture"],
    ["attachTraffic", "traffic"],
  ] as const;
  for (const [id, feature] of calls) {
    const failure = await failureOf(ann.call(id, { lab: "/pair" } as never));
    expect([failure.code, failure.data?.["feature"]], id).toEqual(["unsupported", feature]);
  }
});

test("an unreachable host is reported as unreachable", async () => {
  const host = changedHost(() => ({
    capabilities: async () => {
      throw new Failure("host_unreachable", "away");
    },
  }));
  const ann = await bench({ host }).login();
  const { hostReachable, features } = await ann.get("getCapabilities");
  expect(hostReachable).toBe(false);
  expect(Object.entries(features ?? {}).filter(([, on]) => on)).toEqual([
    ["events", true],
    ["jobs", true],
  ]);
});

test("the catalogue is sorted, and only provisioned=true filters", async () => {
  const base = memoryHost({ users });
  const host = changedHost((session) => ({
    templates: async () => (await session.templates()).map((one) => ({ ...one, provisioned: one.id !== "frr" })).reverse(),
  }));
  await base.close();
  const ann = await bench({ host }).login();
  const ids = async (provisioned?: string) =>
    (await ann.get("listTemplates", {}, provisioned === undefined ? {} : { provisioned })).templates?.map(({ id }) => id);
  expect(await ids()).toEqual(["frr", "linux", "pc", "switch"]);
  expect(await ids("false")).toEqual(["frr", "linux", "pc", "switch"]);
  expect(await ids("true")).toEqual(["linux", "pc", "switch"]);
  expect(await ann.get("getTemplate", { id: "frr" })).toMatchObject({ id: "frr", default: "frr", configSupported: true });
  expect((await failureOf(ann.get("getTemplate", { id: "none" }))).code).toBe("template_not_found");
  expect(await ann.get("listTemplateImages", { id: "frr" })).toMatchObject({
    template: "frr",
    default: "frr",
    images: [{ name: "frr", default: true }],
  });
  expect((await ann.get("listTemplateAttributes", { id: "frr" })).attributes).toMatchObject([{ name: "daemons" }]);
});

test.each<[string, Readonly<Record<string, "external" | "nat" | "inside">>, boolean]>([
  ["NAT is the only one", { bridge: "inside", nat: "nat" }, true],
  ["there is another one beside NAT", { bridge: "inside", cloud0: "external", nat: "nat" }, false],
  ["there is one, and it is not NAT", { bridge: "inside", cloud0: "external" }, false],
  ["there is none", { bridge: "inside" }, false],
])("natOnly of a host where, of the ways out of a lab, %s", async (_what, kinds, natOnly) => {
  const types = Object.entries(kinds).map(([type, way]) => ({ type, description: type, external: way !== "inside", nat: way === "nat" }));
  const host = changedHost(() => ({ networkTypes: async () => [...types].reverse() }));
  const ann = await bench({ host }).login();
  expect(await ann.get("listNetworkTypes")).toEqual({ types, natOnly });
});

test("interfaces are previewed from an intent or a bare template, and completed in the order a person would take them", async () => {
  const ann = await bench().login();
  const preview = await ann.call("previewInterfaces", { yaml: pair });
  expect(preview.items).toEqual([
    { node: "r1", name: "eth0", index: 0, type: "ethernet", used: false },
    { node: "r1", name: "eth1", index: 1, type: "ethernet", used: true, peer: "r2:eth1" },
    { node: "r2", name: "eth0", index: 0, type: "ethernet", used: false },
    { node: "r2", name: "eth1", index: 1, type: "ethernet", used: true, peer: "r1:eth1" },
  ]);
  const bare = await ann.call("previewInterfaces", { template: "frr", attributes: { ethernet: 2 }, eth_format: "Gi{0}/{0-4}" });
  expect(bare.items?.map(({ name }) => name)).toEqual(["Gi0/0", "Gi0/1"]);
  const free = await ann.call("completeLinkInterfaces", { yaml: pair, node: "r1", excludeUsed: true });
  expect(free.node).toBe("r1");
  expect(free.items?.slice(0, 3).map(({ name }) => name)).toEqual(["eth0", "eth2", "eth3"]);
  expect((await ann.call("completeLinkInterfaces", { yaml: pair, node: "r1" })).items?.at(-1)).toMatchObject({ name: "eth1", used: true });
  expect((await failureOf(ann.call("previewInterfaces", { yaml: pair, node: "zz" }))).code).toBe("node_not_found");
  expect((await failureOf(ann.call("previewInterfaces", { template: "zz" }))).code).toBe("template_not_found");
  expect((await failureOf(ann.call("previewInterfaces", {}))).code).toBe("bad_request");
});

test("inspect fills cpu, ram and position of every node: as declared, else the template's, and a free place", async () => {
  const vm = { ...memoryTemplates.find(({ id }) => id === "linux")!, id: "vm", cpu: 2, ram: 512, fields: {} };
  const made = createBench({ host: memoryHost({ users, templates: [...memoryTemplates, vm] }) });
  try {
    const ann = await made.login();
    const yaml =
      "name: full\nnodes:\n  a: {template: vm, cpu: 1, position: {x: 30, y: 40}}\n  b: {template: vm}\n  c: {template: linux}\n  d: {template: switch}\n";
    await ann.call("deployProject", { yaml });
    const { nodes } = await ann.call("inspectProject", { lab: "/full" });
    expect(nodes.map(({ node, cpu, ram, position, placed }) => [node, cpu, ram, position, placed])).toEqual([
      ["a", 1, 512, { x: 30, y: 40 }, undefined],
      ["b", 2, 512, { x: 30, y: 190 }, true],
      ["c", 0, 0, { x: 180, y: 190 }, true],
      ["d", 0, 0, { x: 30, y: 340 }, true],
    ]);
  } finally {
    await made.service.close();
    await made.host.close();
  }
});
