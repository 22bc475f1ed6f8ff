import { stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runOnMachine, succeeded } from "./machine/machine.ts";
import { hosts, labChecks } from "./testing/lab-checks.fixture.ts";
import { eventually, exampleLab, labOf, type TestLocalHost, testLocalHost } from "./testing/test-local-host.fixture.ts";

describe.skipIf(process.getuid?.() !== 0)("networks of the embedded host on this kernel", () => {
  let local: TestLocalHost;
  beforeAll(async () => {
    local = await testLocalHost();
  });
  afterAll(async () => {
    await local[Symbol.asyncDispose]();
  });

  const { pings, reaches, power, allRun } = labChecks(() => local);

  test("two hosts on a link ping each other, the next plan is empty, and delete leaves nothing", async () => {
    const lab = labOf(hosts(["a", "b"], ['"a:eth0", "b:eth0"']));
    const { applied } = await local.deploy("/p2p", lab);
    await allRun("/p2p");
    await reaches("/p2p", "a", "10.0.0.2");
    const again = await local.deploy("/p2p", lab);
    expect(again.plan.operations).toEqual([]);
    // The fabric itself sends nothing: it has no addresses.
    const fabric = await (await local.sandbox("/p2p")).run(["ip", "-o", "addr", "show"]);
    expect(fabric.stdout).not.toMatch(/\bn\d+i\d+\b/);

    await local.deploy("/p2p", null);
    expect(await local.session.observe("/p2p")).toBeNull();
    await expect(stat(join(local.paths.state, "labs", applied.labId!))).rejects.toThrow("ENOENT");
    await expect(stat(join(local.paths.run, applied.labId!))).rejects.toThrow("ENOENT");
  });

  test("a bridge and a switch connect their nodes, and a stopped switch connects none", async () => {
    const yaml = hosts(
      ["a", "b", "c", "d"],
      ['"a:eth0", "lan"', '"b:eth0", "lan"', '"c:eth0", "sw:eth3"', '"d:eth0", "sw:eth0"'],
      "  sw: {template: switch}\nnetworks:\n  lan: {type: bridge}\n",
    );
    await local.deploy("/l2", labOf(yaml));
    await allRun("/l2");
    await reaches("/l2", "a", "10.0.0.2");
    await reaches("/l2", "c", "10.0.0.4");
    expect(await pings("/l2", "a", "10.0.0.3")).toBe(false);

    await local.deploy("/l2", labOf(yaml.replace("{template: switch}", "{template: switch, start: false}")));
    expect((await power("/l2")).sw).toBe("stopped");
    expect(await pings("/l2", "c", "10.0.0.4")).toBe(false);
    const carrier = await local.exec("/l2", "c", "cat", "/sys/class/net/eth0/carrier");
    expect(carrier.stdout.trim()).toBe("0");

    await local.deploy("/l2", labOf(yaml.replace("{template: switch}", "{template: switch, start: true}")));
    await reaches("/l2", "c", "10.0.0.4");
    await local.deploy("/l2", null);
  });

  test("a link, an interface and a node are added to a running lab and removed, and the other nodes keep running", async () => {
    await local.deploy("/hot", labOf(hosts(["a", "b"], [])));
    await allRun("/hot");
    const before = (await local.session.status("/hot")).nodes.map((node) => node.uptime_ms ?? 0);
    await local.deploy("/hot", labOf(hosts(["a", "b"], ['"a:eth0", "b:eth0"'])));
    for (const [node, address] of [
      ["a", "10.0.0.1/24"],
      ["b", "10.0.0.2/24"],
    ] as const) {
      await local.exec("/hot", node, "ip", "addr", "replace", address, "dev", "eth0");
    }
    await reaches("/hot", "a", "10.0.0.2");

    const three = hosts(["a", "b", "c"], ['"a:eth0", "b:eth0"', '"b:eth1", "c:eth0"']);
    await local.deploy("/hot", labOf(three));
    await allRun("/hot");
    await local.exec("/hot", "b", "ip", "addr", "add", "10.0.0.20/32", "peer", "10.0.0.3", "dev", "eth1");
    await reaches("/hot", "b", "10.0.0.3");

    await local.deploy("/hot", labOf(hosts(["a", "b"], [])));
    expect(await pings("/hot", "a", "10.0.0.2")).toBe(false);
    expect(Object.keys(await power("/hot"))).toEqual(["a", "b"]);
    const after = (await local.session.status("/hot")).nodes.map((node) => node.uptime_ms ?? 0);
    expect(after.every((uptime, i) => uptime >= before[i]!)).toBe(true);
    await local.deploy("/hot", null);
  });

  test("the MTU of a link is that of the interfaces inside its nodes, from the start and after a change", async () => {
    const yaml = (mtu: number) => `${hosts(["a", "b"], [])}`.replace("  []\n", `  - {endpoints: ["a:eth0", "b:eth0"], mtu: ${mtu}}\n`);
    const inside = async (node: string) => (await local.exec("/mtu", node, "cat", "/sys/class/net/eth0/mtu")).stdout.trim();
    await local.deploy("/mtu", labOf(yaml(1400)));
    await allRun("/mtu");
    expect([await inside("a"), await inside("b")]).toEqual(["1400", "1400"]);
    await local.deploy("/mtu", labOf(yaml(9000)));
    expect([await inside("a"), await inside("b")]).toEqual(["9000", "9000"]);
    await eventually(
      "a frame of 8 kB passes",
      30_000,
      async () => (await local.exec("/mtu", "a", "ping", "-c", "1", "-W", "1", "-M", "do", "-s", "8000", "10.0.0.2")).code,
      (code) => code === 0,
    );
    await local.deploy("/mtu", null);
  });

  test("a node behind nat gets an address and reaches the machine, but no other nat network; destroy removes everything", async () => {
    expect((await local.session.capabilities()).features.nat).toBe(true);
    const yaml =
      'name: t\nnodes:\n  a: {template: linux, exec: [udhcpc -S -n -q -i eth0]}\nnetworks: {inet: {type: nat}}\nlinks: [["a:eth0", inet]]\n';
    for (const path of ["/nat1", "/nat2"]) await local.deploy(path, labOf(yaml));
    await allRun("/nat1");
    await allRun("/nat2");
    const machineOf = async (path: string) => {
      const route = await local.exec(path, "a", "ip", "route", "show", "default");
      return /via (\S+)/.exec(route.stdout)?.[1] ?? "";
    };
    const [one, two] = [await machineOf("/nat1"), await machineOf("/nat2")];
    expect(one).toMatch(/^100\.\d+\.\d+\.1$/);
    expect(two).not.toBe(one);
    await reaches("/nat1", "a", one);
    const otherNode = (await local.exec("/nat2", "a", "ip", "-4", "-o", "addr", "show", "eth0")).stdout.match(/inet (\S+)\//)?.[1] ?? "";
    expect(await pings("/nat1", "a", otherNode)).toBe(false);

    const table = `labwright_${(await local.session.observe("/nat1"))!.id.replaceAll("-", "_")}`;
    const rules = async () =>
      (await runOnMachine(["nft", "list", "ruleset"])).stdout.split("table inet ").find((text) => text.startsWith(table)) ?? "";
    expect(await rules()).toMatch(/ip daddr 169\.254\.0\.0\/16 reject/);
    // The service that adopts a running lab sets its own rules.
    const { stdout: listed } = await runOnMachine(["nft", "list", "tables"]);
    const name = new RegExp(`${table}_\\d+`).exec(listed)![0];
    succeeded(["nft", "flush"], await runOnMachine(["nft", "flush", "chain", "inet", name, "destinations"]));
    expect(await rules()).not.toContain("reject");
    await local.reopen();
    await eventually("the policy is there again", 30_000, rules, (text) => text.includes("reject"));

    const made = async () =>
      [(await runOnMachine(["nft", "list", "tables"])).stdout, (await runOnMachine(["ip", "-o", "link"])).stdout].join("");
    const ids = await Promise.all(["/nat1", "/nat2"].map(async (path) => (await local.session.observe(path))!.id.replaceAll("-", "_")));
    for (const id of ids) expect(await made()).toContain(id);
    // Killed, not destroyed: everything outside the sandbox is removed too.
    process.kill((await local.sandbox("/nat1")).pid, "SIGKILL");
    await eventually("its table is gone", 30_000, made, (text) => !text.includes(ids[0]!));
    // Removed from a running lab.
    await local.deploy("/nat2", labOf("name: t\nnodes:\n  a: {template: linux, exec: [udhcpc -S -n -q -i eth0], ethernet: 1}\n"));
    expect(await made()).not.toContain(ids[1]!);
    const left = await (await local.sandbox("/nat2")).run(["ps", "ax", "-o", "args"]);
    expect(left.stdout).not.toContain("udhcpd");
    await local.deploy("/nat2", null);
    await local.deploy("/nat1", null);
  });

  test("the OSPF triangle becomes ready, reaches Full and pings from end to end", { timeout: 300_000 }, async () => {
    await local.deploy("/ospf", await exampleLab("ospf-triangle"));
    await eventually(
      "routers are ready",
      40_000,
      () => local.session.status("/ospf"),
      ({ nodes }) =>
        nodes.filter((node) => node.ready !== undefined).every((node) => node.ready) && nodes.every((node) => node.status === "running"),
    );
    await eventually(
      "r1 has two full neighbours",
      60_000,
      async () => (await local.exec("/ospf", "r1", "vtysh", "-c", "show ip ospf neighbor")).stdout.match(/Full/g)?.length ?? 0,
      (full) => full === 2,
    );
    await reaches("/ospf", "h1", "192.168.3.10", true, 60_000);
    await local.deploy("/ospf", null);
  });
});
