import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { builtinTemplates, loadTemplates } from "../src/hosts/local/templates/templates.ts";
import { eventually, exampleLab, type TestLocalHost, testLocalHost } from "../src/hosts/local/testing/test-local-host.fixture.ts";
import type { Lab } from "../src/intent/lab/lab.ts";
import { endpointText } from "../src/intent/lab/lab.ts";
import { readIntent } from "../src/intent/read/read.ts";

const directory = fileURLToPath(new URL("../labs", import.meta.url));
const { templates } = await loadTemplates([builtinTemplates]);
const names = (await readdir(directory)).filter((name) => name.endsWith(".yaml")).sort();

/** The files beside the lab, by the path that its YAML names them by. */
async function filesOf(name: string): Promise<Record<string, string>> {
  const entries = await readdir(join(directory, name.replace(/\.yaml$/, "")), { recursive: true, withFileTypes: true }).catch(() => []);
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(await Promise.all(paths.map(async (path) => [relative(directory, path), await readFile(path, "utf8")])));
}

async function read(name: string): Promise<Lab> {
  const { lab, diagnostics } = readIntent(await readFile(join(directory, name), "utf8"), await filesOf(name));
  expect(diagnostics).toEqual([]);
  if (lab === undefined) throw new Error(`${name} gives no lab`);
  return lab;
}

test("there are example labs", () => {
  expect(names).toEqual(expect.arrayContaining(["ospf-triangle.yaml", "switched-lan.yaml", "two-hosts.yaml"]));
});

describe.each(names)("the example lab %s", (name) => {
  test("is valid, bears its file's name and uses every file beside it", async () => {
    const lab = await read(name);
    expect(lab.name).toBe(name.replace(/\.yaml$/, ""));
    const used = lab.nodes.flatMap(({ startupConfigFile, fileSources = {} }) => [startupConfigFile, ...Object.values(fileSources)]);
    expect([...new Set(used)].filter((file) => file !== undefined).sort()).toEqual(Object.keys(await filesOf(name)).sort());
  });

  test("uses templates of ours and only what they support", async () => {
    for (const node of (await read(name)).nodes) {
      const template = templates.find((candidate) => candidate.id === node.template);
      expect(template, `template ${node.template} of ${node.key}`).toBeDefined();
      const attributes = template?.attributes.map((attribute) => attribute.name) ?? [];
      expect(attributes).toEqual(expect.arrayContaining(Object.keys(node.attributes)));
      if (node.startupConfig !== undefined) expect(template?.startupConfig).toBe(true);
      const empty = (value: unknown) =>
        value === undefined || (typeof value === "object" && value !== null && Object.keys(value).length === 0);
      for (const [field, rule] of Object.entries(template?.fields ?? {})) {
        if (rule === "unsupported") expect(empty(node[field as keyof typeof node]), `${node.key}.${field}`).toBe(true);
      }
    }
  });

  test("uses each interface once, by a name of its template", async () => {
    const lab = await read(name);
    const ends = lab.links.flatMap((link) => link.endpoints).filter((endpoint) => "node" in endpoint);
    expect(new Set(ends.map(endpointText)).size).toBe(ends.length);
    for (const end of ends) {
      const template = templates.find((candidate) => candidate.id === lab.nodes.find((node) => node.key === end.node)?.template);
      const known = Array.from({ length: template?.maxInterfaces ?? 0 }, (_, index) => template?.ethFormat.replace("{0}", String(index)));
      expect(known).toContain(end.interface);
    }
  });
});

/** Deployed on the embedded host, checked against its first lines, changed once, and destroyed. All at once: routing protocols mostly wait. */
describe.skipIf(process.getuid?.() !== 0)("deployed, the example lab", () => {
  let local: TestLocalHost;
  beforeAll(async () => {
    local = await testLocalHost();
  });
  afterAll(async () => {
    await local[Symbol.asyncDispose]();
  });
  const patience = 120_000;

  const deploy = async (name: string, edit?: (yaml: string) => string) => {
    const lab = await exampleLab(name, edit);
    const { plan } = await local.deploy(`/${name}`, lab);
    expect(plan.blocked).toEqual([]);
    expect((await local.plan(`/${name}`, lab)).plan.operations).toEqual([]);
    return plan;
  };
  const run = async (name: string, node: string, ...argv: readonly string[]) => (await local.exec(`/${name}`, node, ...argv)).stdout;
  const frr = async <T>(name: string, node: string, command: string): Promise<T | undefined> => {
    const { code, stdout } = await local.exec(`/${name}`, node, "vtysh", "-c", `${command} json`);
    try {
      return code === 0 ? (JSON.parse(stdout) as T) : undefined;
    } catch {
      return undefined; // daemons report their start in text
    }
  };
  type Routes = Readonly<
    Record<string, readonly { readonly selected?: boolean; readonly protocol: string; readonly nexthops: readonly NextHop[] }[]>
  >;
  type NextHop = { readonly fib?: boolean; readonly interfaceName: string };
  /** Interfaces that the forwarding table sends the prefix out of, by the protocol. */
  const ways = async (name: string, node: string, prefix: string, protocol: string) => {
    const routes = await frr<Routes>(name, node, `show ip route ${prefix}`);
    const chosen = routes?.[prefix]?.find((route) => route.selected === true && route.protocol === protocol);
    return (chosen?.nexthops ?? []).flatMap((hop) => (hop.fib === true ? hop.interfaceName : [])).sort();
  };
  const goes = (name: string, node: string, prefix: string, protocol: string, wanted: readonly string[]) =>
    eventually(
      `${node} sends ${prefix} out of ${wanted}`,
      patience,
      () => ways(name, node, prefix, protocol),
      (found) => JSON.stringify(found) === JSON.stringify(wanted),
    );
  const pings = (name: string, node: string, address: string) =>
    eventually(
      `${node} reaches ${address}`,
      patience,
      () => local.exec(`/${name}`, node, "ping", "-c", "1", "-W", "2", address),
      ({ code }) => code === 0,
    );
  /** The machine's address on a nat network, once the node has it as its default route. */
  const leadsOut = async (name: string, node: string) =>
    (await eventually(
      `${node} has a default route`,
      patience,
      async () => /default via (\S+)/.exec(await run(name, node, "ip", "route"))?.[1],
      (found) => found !== undefined,
    )) ?? "";
  /** The shortest round trip of a few, in ms. */
  const roundTrip = async (name: string, node: string, address: string) =>
    Number(/min\/avg.* = ([\d.]+)\//.exec(await run(name, node, "ping", "-c", "5", "-i", "0.2", "-W", "5", address))?.[1]);

  test.concurrent("two-hosts reach each other, and no longer when their cable is pulled", { timeout: 300_000 }, async () => {
    await deploy("two-hosts");
    await pings("two-hosts", "a", "10.0.0.2");
    await deploy("two-hosts", (yaml) => yaml.replace('["a:eth0", "b:eth0"]', '{endpoints: ["a:eth0", "b:eth0"], suspended: true}'));
    expect((await local.exec("/two-hosts", "a", "ping", "-c", "1", "-W", "1", "10.0.0.2")).code).not.toBe(0);
    await local.deploy("/two-hosts", null);
  });

  test.concurrent("switched-lan has PCs that reach each other through the switch, and the way out through the gateway", {
    timeout: 300_000,
  }, async () => {
    await deploy("switched-lan");
    for (const address of ["192.168.10.12", "192.168.10.13", "192.168.10.1"]) await pings("switched-lan", "pc1", address);
    await pings("switched-lan", "pc2", await leadsOut("switched-lan", "gw"));
    const plan = await deploy("switched-lan", (yaml) => yaml.replace(/^ {2}pc3:\n( {4}.*\n)+/m, "").replace(/^.*"pc3:eth0".*\n/m, ""));
    expect(plan.actions.map(({ op, kind, key }) => [op, kind, key])).toContainEqual(["delete", "node", "pc3"]);
    await pings("switched-lan", "pc1", "192.168.10.12");
    await local.deploy("/switched-lan", null);
  });

  test.concurrent("ospf-triangle has the direct way between its LANs, and the way round when that is suspended", {
    timeout: 300_000,
  }, async () => {
    await deploy("ospf-triangle");
    await goes("ospf-triangle", "r1", "192.168.2.0/24", "ospf", ["eth1"]);
    await pings("ospf-triangle", "h1", "192.168.2.10");
    await deploy("ospf-triangle", (yaml) => yaml.replace('["r1:eth1", "r2:eth1"]', '{endpoints: ["r1:eth1", "r2:eth1"], suspended: true}'));
    await goes("ospf-triangle", "r1", "192.168.2.0/24", "ospf", ["eth2"]);
    await pings("ospf-triangle", "h1", "192.168.2.10");
    await local.deploy("/ospf-triangle", null);
  });

  test.concurrent("bgp-clos has two equal paths over its spines, and one when a link to a spine is suspended", {
    timeout: 300_000,
  }, async () => {
    await deploy("bgp-clos");
    await goes("bgp-clos", "leaf1", "192.168.4.0/24", "bgp", ["eth1", "eth2"]);
    await pings("bgp-clos", "h1", "192.168.4.10");
    type Summary = { readonly peers: Readonly<Record<string, { readonly state: string }>> };
    const peers = async () => (await frr<Summary>("bgp-clos", "spine1", "show bgp ipv4 unicast summary"))?.peers ?? {};
    const all = [1, 2, 3, 4].map((n) => [`eth${n}`, "Established"]);
    const isWhole = (found: Summary["peers"]) =>
      JSON.stringify(Object.entries(found).map(([name, { state }]) => [name, state])) === JSON.stringify(all);
    await eventually("spine1 has all its neighbours", patience, peers, isWhole);
    const plan = await deploy("bgp-clos", (yaml) => yaml.replace("suspended: false", "suspended: true"));
    expect(plan.actions.map(({ op, kind, disruption }) => [op, kind, disruption])).toEqual([["update", "link", "link"]]);
    await goes("bgp-clos", "leaf1", "192.168.4.0/24", "bgp", ["eth2"]);
    await pings("bgp-clos", "h1", "192.168.4.10");
    await local.deploy("/bgp-clos", null);
  });

  test.concurrent("isis-ring finds the way round when a link is taken out", { timeout: 300_000 }, async () => {
    await deploy("isis-ring");
    await goes("isis-ring", "r1", "10.255.0.2/32", "isis", ["eth1"]);
    await goes("isis-ring", "r1", "10.255.0.3/32", "isis", ["eth1", "eth2"]);
    const plan = await deploy("isis-ring", (yaml) => yaml.replace('  - ["r1:eth1", "r2:eth2"]\n', ""));
    expect(plan.actions.map(({ op, kind }) => [op, kind])).toEqual([["delete", "link"]]);
    await goes("isis-ring", "r1", "10.255.0.2/32", "isis", ["eth2"]);
    await pings("isis-ring", "r1", "10.255.0.2");
    await local.deploy("/isis-ring", null);
  });

  test.concurrent("impaired-wan has its fibre's round trip, and its satellite's when that is the way", { timeout: 300_000 }, async () => {
    await deploy("impaired-wan");
    await goes("impaired-wan", "r1", "192.168.2.0/24", "ospf", ["eth1"]);
    await pings("impaired-wan", "h1", "192.168.2.10");
    const fibre = await roundTrip("impaired-wan", "h1", "192.168.2.10");
    expect(fibre).toBeGreaterThanOrEqual(39.5);
    expect(fibre).toBeLessThan(300);
    const other: Readonly<Record<string, string>> = { true: "false", false: "true" };
    await deploy("impaired-wan", (yaml) => yaml.replace(/suspended: (true|false)/g, (_, now: string) => `suspended: ${other[now]}`));
    await goes("impaired-wan", "r1", "192.168.2.0/24", "ospf", ["eth2"]);
    await pings("impaired-wan", "h1", "192.168.2.10");
    expect(await roundTrip("impaired-wan", "h1", "192.168.2.10")).toBeGreaterThanOrEqual(299);
    await local.deploy("/impaired-wan", null);
  });

  test.concurrent("vm-mix has virtual machines that reach the others through the router", { timeout: 300_000 }, async () => {
    await deploy("vm-mix");
    // A processor made of software, on a machine that has much else to do.
    const { session } = local;
    const booted = async () => (await session.status("/vm-mix")).nodes.every(({ ready }) => ready !== false);
    await eventually("the virtual machines are ready", 240_000, booted, (all) => all);
    for (const address of ["10.1.0.2", "10.2.0.2"]) await pings("vm-mix", "h1", address);
    await pings("vm-mix", "r1", "10.3.0.2");
    await local.deploy("/vm-mix", null);
  });

  test.concurrent("office gives addresses and names, also to a PC that comes later, and leads out", { timeout: 300_000 }, async () => {
    await deploy("office");
    const address = (node: string) =>
      eventually(
        `${node} has an address`,
        patience,
        async () => /inet (192\.168\.50\.\d+)/.exec(await run("office", node, "ip", "-4", "addr", "show", "dev", "eth0"))?.[1],
        (found) => found !== undefined,
      );
    expect(await address("printer")).toBe("192.168.50.9");
    expect(await address("pc1")).toMatch(/\.1\d\d$/);
    await pings("office", "pc1", "printer.office");
    await pings("office", "pc1", "intranet.office");
    const outside = await leadsOut("office", "gw");
    await pings("office", "pc1", outside);
    const plan = await deploy("office", (yaml) =>
      yaml.replace("networks:\n", "  pc3: {kind: client}\nnetworks:\n").replace("tests:\n", '  - ["pc3:eth0", "sw:eth4"]\ntests:\n'),
    );
    expect(plan.actions.map(({ op, kind, key, disruption }) => [op, kind, key, disruption])).toEqual(
      expect.arrayContaining([["create", "node", "pc3", "none"]]),
    );
    await address("pc3");
    await pings("office", "pc1", "pc3");
    await pings("office", "pc3", outside);
    await local.deploy("/office", null);
  });
});
