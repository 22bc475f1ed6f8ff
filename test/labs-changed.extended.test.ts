import { describe, expect, test } from "vitest";
import { eventually } from "../src/hosts/local/testing/test-local-host.fixture.ts";
import { deployedLabs } from "./deployed-labs.fixture.ts";

/** Labs that labs-own-tests.test.ts deploys too, and one of virtual machines: checked against their first lines, changed once, and destroyed. All at once: routing protocols mostly wait. */
describe.skipIf(process.getuid?.() !== 0)("deployed, the example lab", () => {
  const { local, deploy, run, goes, pings, leadsOut, roundTrip, frr, patience } = deployedLabs();

  test.concurrent("ospf-triangle has the direct way between its LANs, and the way round when that is suspended", {
    timeout: 300_000,
  }, async () => {
    await deploy("ospf-triangle");
    await goes("ospf-triangle", "r1", "192.168.2.0/24", "ospf", ["eth1"]);
    await pings("ospf-triangle", "h1", "192.168.2.10");
    await deploy("ospf-triangle", (yaml) => yaml.replace('["r1:eth1", "r2:eth1"]', '{endpoints: ["r1:eth1", "r2:eth1"], suspended: true}'));
    await goes("ospf-triangle", "r1", "192.168.2.0/24", "ospf", ["eth2"]);
    await pings("ospf-triangle", "h1", "192.168.2.10");
    await local().deploy("/ospf-triangle", null);
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
    await local().deploy("/bgp-clos", null);
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
    await local().deploy("/impaired-wan", null);
  });

  test.concurrent("vm-mix has virtual machines that reach the others through the router", { timeout: 300_000 }, async () => {
    await deploy("vm-mix");
    // A processor made of software, on a machine that has much else to do.
    const { session } = local();
    const booted = async () => (await session.status("/vm-mix")).nodes.every(({ ready }) => ready !== false);
    await eventually("the virtual machines are ready", 240_000, booted, (all) => all);
    for (const address of ["10.1.0.2", "10.2.0.2"]) await pings("vm-mix", "h1", address);
    await pings("vm-mix", "r1", "10.3.0.2");
    await local().deploy("/vm-mix", null);
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
    await local().deploy("/office", null);
  });
});
