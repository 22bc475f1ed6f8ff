import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Lab } from "../../../intent/lab/lab.ts";
import { readIntent } from "../../../intent/read/read.ts";
import { openUsers } from "../accounts/users.ts";
import { type RunResult, runOnMachine, succeeded } from "../machine/machine.ts";
import { eventually, noIds, type TestLocalHost, testLocalHost } from "../testing/test-local-host.fixture.ts";
import { managementWorks, uplinkOf } from "./management.ts";

const run = promisify(execFile);
const at = "/managed";

function labOf(yaml: string): Lab {
  const { lab, diagnostics } = readIntent(yaml);
  if (lab === undefined) throw new Error(JSON.stringify(diagnostics));
  return lab;
}

/** Networks of documentation: a machine that runs tests has no route to them. */
const subnets = ["198.51.100.0/24", "203.0.113.0/24"] as const;

describe.skipIf(!(await managementWorks()))("a management network", () => {
  let local: TestLocalHost;
  let folder: string;
  let key: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "management-"));
    local = await testLocalHost({ hostsFile: join(folder, "hosts") });
    await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(folder, "key")]);
    key = (await readFile(join(folder, "key.pub"), "utf8")).trim();
  });
  afterAll(async () => {
    await local[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  const yaml = (management: string, h1 = "") => `name: managed
${management === "" ? "" : `management: ${management}\n`}nodes:
  h1: {template: linux, ssh-keys: ["${key}"]${h1}}
  r1: {template: frr}
  sw: {template: switch}
links:
  - ["h1:eth0", "r1:eth0"]
`;
  const address = async (node: string, path = at) => {
    const found = await local.session.addresses?.(path);
    return found?.get(local.ids(path).nodes[node] ?? "")?.get("mgmt0")?.[0];
  };
  /** The address as soon as the node runs. */
  const ready = (node: string, path = at) =>
    eventually(
      `${node} has an address`,
      30_000,
      () => address(node, path),
      (found) => found !== undefined,
    );
  const plain = async (node: string, path = at) => ((await ready(node, path)) ?? "").replace(/\/.*/, "");
  const pings = async (to: string) => (await runOnMachine(["busybox", "ping", "-c", "1", "-W", "2", to])).code === 0;
  const idOf = async (path = at) => (await local.session.observe(path))!.id;
  const machineOf = (node: string) => node.replace(/\d+$/, "1");
  /** Returns whether the machine has a device, a table or a route of the lab. */
  async function leftOvers(lab: string): Promise<readonly string[]> {
    const { device, table } = uplinkOf(lab);
    const [links, tables] = await Promise.all([runOnMachine(["ip", "-o", "link"]), runOnMachine(["nft", "list", "tables"])]);
    return [...(links.stdout.includes(device) ? [device] : []), ...(tables.stdout.includes(table) ? [table] : [])];
  }
  const power = async (node: string, step: { do: "start" } | { do: "stop"; mode: 1 }) => {
    const operation = {
      id: `${step.do}:${node}`,
      op: step.do,
      kind: "node" as const,
      key: node,
      disruption: "none" as const,
      affects: [],
      changes: [],
      prune: false,
      cause: `node:${node}`,
      because: "test",
      step: { ...step, node },
    };
    await local.session.apply(at, [operation as never], { ids: local.ids(at), step: () => undefined });
  };

  test("gives each node with a system an address that the machine reaches by ping and SSH", async () => {
    await local.deploy(at, labOf(yaml("true")));
    for (const node of ["h1", "r1"]) {
      expect(await ready(node)).toMatch(/^198\.1[89]\.\d+\.\d+\/24$/);
      expect(await pings(await plain(node))).toBe(true);
    }
    expect(await address("sw")).toBeUndefined();
    const options = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR", "BatchMode=yes"].flatMap((o) => [
      "-o",
      o,
    ]);
    const argv = ["ssh", ...options, "-i", join(folder, "key"), `root@${await plain("h1")}`, "hostname"];
    const named = (result: RunResult) => result.stdout.trim() === "h1";
    await eventually("SSH signs in", 30_000, () => runOnMachine(argv), named);
  });

  test("nodes find each other by name, also a node that is added while they run; the other lines of their file stay", async () => {
    const finds = async (node: string, name: string) => (await local.exec(at, node, "ping", "-c", "1", "-W", "5", name)).code === 0;
    for (const name of ["r1", "r1.managed", "h1"]) expect([name, await finds("h1", name)]).toEqual([name, true]);
    await local.exec(at, "h1", "sh", "-c", "echo 192.0.2.1 elsewhere >> /etc/hosts");
    await local.deploy(at, labOf(`${yaml("true")}`.replace("  sw:", "  late: {template: linux}\n  sw:")));
    await ready("late");
    await eventually(
      "late answers",
      30_000,
      () => finds("h1", "late"),
      (found) => found,
    );
    expect(await finds("late", "r1")).toBe(true);
    await local.deploy(at, labOf(yaml("true")));
    const { stdout } = await local.exec(at, "h1", "cat", "/etc/hosts");
    expect(stdout).not.toContain("late");
    expect(stdout).toContain("192.0.2.1 elsewhere");
    expect(stdout).toMatch(/^127\.0\.0\.1\s+localhost/);
  });

  const hosts = () => readFile(join(folder, "hosts"), "utf8");
  /** The lines of the hosts file that name nodes. */
  const named = async () => (await hosts()).split("\n").filter((line) => /^\d/.test(line) && !line.endsWith(" localhost"));

  test("names the nodes of an admin's lab in the hosts file of the machine, and none of another user's lab", async () => {
    const lines = await Promise.all(["h1", "r1"].map(async (node) => `${await plain(node)} ${node}.managed`));
    expect(await named()).toEqual(lines);
    await openUsers(join(local.paths.state, "users.json")).put("bob", "bob-bob-bob", "user");
    await local.session.setOwner?.(at, "bob");
    expect(await named()).toEqual([]);
    await local.session.setOwner?.(at, "admin");
    expect(await named()).toEqual(lines);
  });

  test("lets a node reach neither the machine's services nor its other addresses, also with a route and another source", async () => {
    const servers: Server[] = [];
    const machine = machineOf(await plain("h1"));
    const listen = (host: string) =>
      new Promise<number>((resolve, reject) => {
        const server = createServer((client) => client.end("machine")).once("error", reject);
        servers.push(server.listen(0, host, () => resolve((server.address() as { port: number }).port)));
      });
    const port = await listen("0.0.0.0");
    // The machine itself reaches it, so that a refusal comes from the rules.
    expect((await run("busybox", ["nc", "-w", "2", machine, String(port)])).stdout).toBe("machine");
    const tries = [
      ["ping", "-c", "1", "-W", "1", machine],
      ["sh", "-c", `nc -w 2 ${machine} ${port} </dev/null | grep machine`],
      [
        "sh",
        "-c",
        `ip addr add ${machine.replace(/1$/, "77")}/24 dev mgmt0; ip neigh flush dev mgmt0; ping -c 1 -W 1 -I ${machine.replace(/1$/, "77")} ${machine}`,
      ],
    ];
    for (const argv of tries) expect([argv, (await local.exec(at, "h1", ...argv)).code]).not.toEqual([argv, 0]);
    const routes = succeeded(["ip", "-4", "-o", "addr"], await runOnMachine(["ip", "-4", "-o", "addr", "show", "scope", "global"]));
    await local.exec(at, "h1", "ip", "route", "add", "default", "via", machine);
    for (const [, other = ""] of routes.stdout.matchAll(/inet ([\d.]+)\//g)) {
      if (other === machine) continue;
      expect((await local.exec(at, "h1", "sh", "-c", `nc -w 2 ${other} ${port} </dev/null | grep machine`)).code).not.toBe(0);
    }
    for (const server of servers) server.close();
    // The address of another source has no effect on the machine's neighbours.
    const { stdout } = await runOnMachine(["ip", "neigh", "show", "dev", uplinkOf(await idOf()).device]);
    expect(stdout).not.toContain(machine.replace(/1$/, "77"));
    await local.exec(at, "h1", "ip", "addr", "del", `${machine.replace(/1$/, "77")}/24`, "dev", "mgmt0");
  });

  /** With a nat network, for which the machine forwards packets. */
  const otherLab =
    'name: other\nmanagement: true\nnodes: {x1: {template: linux}}\nnetworks: {inet: {type: nat}}\nlinks: [["x1:eth0", inet]]';

  test("leads nowhere else: not to another lab's nodes, in either way", async () => {
    await local.deploy("/other", labOf(`${otherLab}\n`));
    const [own, other] = [await plain("h1"), await plain("x1", "/other")];
    expect(await pings(other)).toBe(true);
    await local.exec("/other", "x1", "ip", "route", "replace", "default", "via", machineOf(other));
    expect((await local.exec(at, "h1", "ping", "-c", "1", "-W", "1", other)).code).not.toBe(0);
    expect((await local.exec("/other", "x1", "ping", "-c", "1", "-W", "1", own)).code).not.toBe(0);
    // The lab's own nodes reach each other.
    expect((await local.exec(at, "h1", "ping", "-c", "1", "-W", "2", await plain("r1"))).code).toBe(0);
    const other_id = await idOf("/other");
    await local.deploy("/other", null);
    expect(await leftOvers(other_id)).toEqual([]);
  });

  test("keeps the addresses over a restart of a node and of the service, and reports no address that a node gives itself", async () => {
    const before = await ready("h1");
    await power("h1", { do: "stop", mode: 1 });
    expect(await address("h1")).toBeUndefined();
    await power("h1", { do: "start" });
    expect(await ready("h1")).toBe(before);
    expect(await pings(await plain("h1"))).toBe(true);
    const lines = await named();
    await local.reopen(() => writeFile(join(folder, "hosts"), "127.0.0.1 localhost\n"));
    await local.session.labs();
    expect(await pings(await plain("h1"))).toBe(true);
    expect(lines).toHaveLength(2);
    expect(await named()).toEqual(lines);
    await local.exec(at, "h1", "ip", "addr", "add", "192.0.2.1/24", "dev", "mgmt0");
    expect(await address("h1")).toBe(before);
    await power("r1", { do: "stop", mode: 1 });
    await power("r1", { do: "start" });
    expect(await pings(await plain("r1"))).toBe(true);
    await local.reopen();
    await power("r1", { do: "stop", mode: 1 });
    expect((await local.exec(at, "h1", "ip", "-4", "-o", "addr", "show", "dev", "mgmt0")).stdout).not.toContain("192.0.2.1");
    await power("r1", { do: "start" });
  });

  test("changes its network and the address of a node while the nodes run", async () => {
    const old = await plain("r1");
    const { plan } = await local.deploy(at, labOf(yaml(`{ipv4-subnet: ${subnets[0]}}`, ", mgmt-ipv4: 198.51.100.77")));
    expect(plan.operations.map(({ key, disruption }) => `${key} ${disruption}`)).toEqual(["managed none", "h1 none"]);
    expect(plan.text).toContain("running nodes may get other management addresses");
    expect(await plain("h1")).toBe("198.51.100.77");
    expect(await pings("198.51.100.77")).toBe(true);
    expect(await pings(await plain("r1"))).toBe(true);
    expect(await pings(old)).toBe(false);
    expect((await local.plan(at, labOf(yaml(`{ipv4-subnet: ${subnets[0]}}`, ", mgmt-ipv4: 198.51.100.77")))).plan.operations).toEqual([]);
  });

  test("has IPv6 if the lab has a network for it: nodes answer there, and start nothing", async () => {
    const both = (ipv6: string, h1 = "") =>
      labOf(yaml(`{ipv4-subnet: ${subnets[0]}, ipv6-subnet: ${ipv6}}`, `, mgmt-ipv4: 198.51.100.77${h1}`));
    const of = async (node: string) => (await local.session.addresses?.(at))?.get(local.ids(at).nodes[node] ?? "")?.get("mgmt0");
    await local.deploy(at, both("auto"));
    expect((await of("h1"))?.[1]).toMatch(/^fd[\da-f:]+::4d\/64$/);
    await local.deploy(at, both('"3fff:77::/64"', ", mgmt-ipv6: 3fff:77::a1"));
    expect(await of("h1")).toEqual(["198.51.100.77/24", "3fff:77::a1/64"]);
    const r1 = (await of("r1"))?.[1]?.replace("/64", "") ?? "";
    for (const address of ["3fff:77::a1", r1]) expect([address, await pings(address)]).toEqual([address, true]);
    expect((await local.exec(at, "h1", "ping", "-c", "1", "-W", "2", r1)).code).toBe(0);
    const { device } = uplinkOf(await idOf());
    const { stdout } = await runOnMachine(["ip", "-6", "-o", "addr", "show", "dev", device]);
    for (const [, address = ""] of stdout.matchAll(/inet6 ([\da-f:]+)\//g)) {
      const target = address.startsWith("fe80") ? `${address}%mgmt0` : address;
      expect([target, (await local.exec(at, "h1", "ping", "-c", "1", "-W", "1", target)).code]).toEqual([target, 1]);
    }
    // An address that the lab does not have is not a neighbour of the machine.
    await local.exec(at, "h1", "sh", "-c", "ip addr add 3fff:77::bad/64 dev mgmt0 nodad; ping -c 1 -W 1 -I 3fff:77::bad 3fff:77::1");
    expect((await runOnMachine(["ip", "-6", "neigh", "show", "dev", device])).stdout).not.toContain("3fff:77::bad");
    const second = labOf('name: second\nmanagement: {ipv6-subnet: "3fff:77::/80"}\nnodes: {x1: {template: linux}}\n');
    await expect(local.deploy("/second", second)).rejects.toThrow("3fff:77::/80 is in use: another lab uses it");
    await local.deploy(at, labOf(yaml(`{ipv4-subnet: ${subnets[0]}}`, ", mgmt-ipv4: 198.51.100.77")));
    expect(await of("h1")).toEqual(["198.51.100.77/24"]);
    expect((await local.exec(at, "h1", "ip", "-6", "-o", "addr", "show", "dev", "mgmt0", "scope", "global")).stdout).toBe("");
    expect(await pings("198.51.100.77")).toBe(true);
  });

  test("is refused with the network of another lab or of the machine, and nothing changes", async () => {
    const second = (subnet: string) => labOf(`name: second\nmanagement: {ipv4-subnet: ${subnet}}\nnodes: {x1: {template: linux}}\n`);
    await expect(local.deploy("/second", second(subnets[0]))).rejects.toThrow(`${subnets[0]} is in use: another lab uses it`);
    expect(await local.session.labs()).toEqual([at]);
    await local.deploy("/second", second(subnets[1]));
    await expect(local.deploy("/second", second(subnets[0]))).rejects.toThrow("in use");
    expect((await local.session.observe("/second"))?.management).toEqual({ ipv4Subnet: subnets[1] });
    expect(await pings(await plain("x1", "/second"))).toBe(true);
    await local.deploy("/second", null);
    const device = `taken${process.pid % 100_000}`;
    const lines = `link add name ${device} up type veth peer name ${device}x\naddr add 203.0.113.9/28 dev ${device}\n`;
    try {
      succeeded(["ip"], await runOnMachine(["ip", "-batch", "-"], lines));
      await expect(local.deploy("/second", second(subnets[1]))).rejects.toThrow("the machine has the route 203.0.113.");
    } finally {
      await runOnMachine(["ip", "link", "del", "dev", device]);
    }
    expect(await local.session.labs()).toEqual([at]);
  });

  test("has a network of its own choice only for an admin", async () => {
    await openUsers(join(local.paths.state, "users.json")).put("eve", "eve-eve-eve", "user");
    const eve = await local.host.login("eve", "eve-eve-eve");
    const apply = async (management: string) => {
      const { plan } = await local.plan("/eve", labOf(`name: low\nmanagement: ${management}\nnodes: {x1: {template: linux}}\n`));
      return await eve.apply("/eve", plan.operations, { ids: noIds, step: () => undefined });
    };
    await expect(apply(`{ipv4-subnet: ${subnets[1]}}`)).rejects.toMatchObject({ code: "operation_not_allowed" });
    expect(await eve.labs()).toEqual([]);
    await apply("true");
    await local.deploy("/eve", null);
  });

  test("takes declared addresses of virtual machines and nodes with kernels of their own", async () => {
    const kept = "mgmt-ipv4: 203.0.113.9, start: false";
    const text = `{v1: {template: vm, ${kept}}, k1: {template: linux, kernel: own, ${kept.replace(".9", ".10")}}}`;
    const lab = labOf(`name: own\nmanagement: {ipv4-subnet: ${subnets[1]}}\nnodes: ${text}\n`);
    const before = (await local.plan("/own", lab)).plan;
    expect(before.unsupported).toEqual([]);
    await local.deploy("/own", lab);
    expect((await local.plan("/own", lab)).plan.operations).toEqual([]);
    await local.deploy("/own", null);
  });

  test("is removed with its interfaces while the nodes run, and leaves nothing on the machine", async () => {
    const lab = await idOf();
    expect(await leftOvers(lab)).toHaveLength(2);
    await local.deploy(at, labOf(yaml("")));
    expect(await leftOvers(lab)).toEqual([]);
    expect((await local.exec(at, "h1", "ip", "link", "show", "dev", "mgmt0")).code).not.toBe(0);
    expect(await address("h1")).toBeUndefined();
    expect(await hosts()).toBe("127.0.0.1 localhost\n");
    await local.deploy(at, labOf(yaml("true")));
    expect(await pings(await plain("h1"))).toBe(true);
  });

  test("ends with a holder that dies, and with the lab", async () => {
    const lab = await idOf();
    const before = await plain("h1");
    const { pid } = await local.sandbox(at);
    process.kill(pid, "SIGKILL");
    await eventually(
      "the machine's side is gone",
      30_000,
      () => leftOvers(lab),
      (left) => left.length === 0,
    );
    await eventually("the names are gone", 30_000, hosts, (text) => text === "127.0.0.1 localhost\n");
    await local.deploy(at, labOf(yaml("true")));
    expect(await plain("h1")).toBe(before);
    expect(await pings(before)).toBe(true);
    await local.deploy(at, null);
    expect(await leftOvers(lab)).toEqual([]);
  });
});
