import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Vxlan } from "../../../intent/lab/lab.ts";
import { runOnMachine, succeeded } from "../machine/machine.ts";
import { eventually, labOf, type TestLocalHost, testLocalHost } from "../testing/test-local-host.fixture.ts";
import { tunnelRefusal } from "./tunnel-refusal.ts";
import { ensureTunnels, readTunnels, removeTunnels } from "./tunnels.ts";

test("a definition that claims to be half of a link between machines gets no number of users' tunnels by that", () => {
  const refusal = (vxlan: Partial<Vxlan>) => {
    const claimed = { remote: "198.51.100.1", vni: 9_000_001, cut: { mtu: 1450 }, ...vxlan };
    return tunnelRefusal({ name: "~9000001.0.0", vxlan: claimed }, undefined)?.message;
  };
  expect(refusal({})).toBeUndefined();
  expect(refusal({ vni: 1001 })).toMatch(/VNIs 8388608 to 16777215 at port 4789, and not VNI 1001: remove "cut"/);
  expect(refusal({ vni: 16_777_216 })).toMatch(/and not VNI 16777216/);
  expect(refusal({ port: 4790 })).toMatch(/at port 4789/);
});

/** Two hosts, each with a network namespace as the network of its machine; a third machine is on the same wire. */

const names = ["a", "b", "c"].map((letter) => `lwvx${process.pid}${letter}`);
const [a = "", b = "", c = ""] = names;
const run = async (...argv: readonly string[]) => succeeded(argv, await runOnMachine(argv));

/** The underlay: machines at a bridge, with room for 1,500 bytes in a tunnel. */
async function makeUnderlay(): Promise<void> {
  for (const name of names) await run("ip", "netns", "add", name);
  await run("ip", "-n", c, "link", "add", "wire", "mtu", "1550", "up", "type", "bridge");
  for (const [at, name] of [a, b].entries()) {
    await run("ip", "-n", c, "link", "add", `to${at}`, "mtu", "1550", "type", "veth", "peer", "name", "eth0", "mtu", "1550", "netns", name);
    await run("ip", "-n", c, "link", "set", `to${at}`, "master", "wire", "up");
    await run("ip", "-n", name, "addr", "add", `192.0.2.${at + 1}/24`, "dev", "eth0");
    await run("ip", "-n", name, "link", "set", "eth0", "up");
  }
  await run("ip", "-n", c, "addr", "add", "192.0.2.3/24", "dev", "wire");
}

const vnis = { first: 1000, last: 1999 };
const lab = (address: string, remote: string, vni = 1001, mtu = 1500, port?: number) =>
  labOf(`name: half
nodes:
  h: {template: linux, exec: [ip address add ${address}/24 dev eth0]}
networks:
  away: {vxlan: {remote: ${remote}, vni: ${vni}${port === undefined ? "" : `, port: ${port}`}}}
links:
  - {endpoints: ["h:eth0", away], mtu: ${mtu}}
`);

describe.skipIf(process.getuid?.() !== 0)("a network that leads to another machine", () => {
  let here: TestLocalHost;
  let there: TestLocalHost;
  beforeAll(async () => {
    await makeUnderlay();
    here = await testLocalHost({ tunnels: { local: "192.0.2.1", remotes: ["192.0.2.0/30"], vnis, netns: a } });
    there = await testLocalHost({ tunnels: { local: "192.0.2.2", remotes: ["192.0.2.0/30"], vnis, netns: b } });
    await here.deploy("/half", lab("10.0.0.1", "192.0.2.2"));
    await there.deploy("/half", lab("10.0.0.2", "192.0.2.1"));
  });
  afterAll(async () => {
    await here[Symbol.asyncDispose]();
    await there[Symbol.asyncDispose]();
    for (const name of names) await runOnMachine(["ip", "netns", "del", name]);
  });

  const ping = (address: string, ...more: readonly string[]) =>
    here.exec("/half", "h", "ping", "-c", "1", "-W", "1", ...more, address).then(({ code }) => code);
  const answers = () =>
    eventually(
      "the other half answers",
      20_000,
      () => ping("10.0.0.2"),
      (code) => code === 0,
    );
  const live = async () => readTunnels(await here.sandbox("/half"));
  const tables = async () => (await run("ip", "netns", "exec", a, "nft", "list", "tables")).stdout;
  const blocked = async (path: string, ...wanted: Parameters<typeof lab>) =>
    (await here.plan(path, lab(...wanted))).plan.blocked.map(({ reason }) => reason);

  test("a port that another program has is named, with the way to find the program", async () => {
    const bind = 'require("node:dgram").createSocket("udp4").bind(4791, "192.0.2.1", () => console.log("bound"))';
    const other = spawn("ip", ["netns", "exec", a, process.execPath, "-e", bind], { stdio: ["ignore", "pipe", "inherit"] });
    const host = await testLocalHost({ tunnels: { local: "192.0.2.1", remotes: ["192.0.2.0/30"], vnis, netns: a, port: 4791 } });
    try {
      await once(other.stdout, "data");
      const text = "another program of this machine has the UDP port 4791 of links between machines: ss -lunp shows which";
      await expect(host.deploy("/taken", lab("10.0.0.3", "192.0.2.2", 1500, 1500, 4791))).rejects.toThrow(text);
    } finally {
      other.kill("SIGKILL");
      await host[Symbol.asyncDispose]();
    }
  });

  test("nodes of both machines are on one segment, with frames of full size", async () => {
    await answers();
    expect(await ping("10.0.0.2", "-s", "1472", "-M", "do")).toBe(0);
    expect(await live()).toEqual([
      { network: expect.any(Number), remote: "192.0.2.2", vni: 1001, port: 4789, mtu: 1500, local: "192.0.2.1", up: true },
    ]);
    expect((await here.plan("/half", lab("10.0.0.1", "192.0.2.2"))).plan.operations).toEqual([]);
  });

  test("a packet with the number of a tunnel from a third machine does not enter the lab", async () => {
    await answers();
    await run(
      "ip",
      "-n",
      c,
      "link",
      "add",
      "evil",
      "type",
      "vxlan",
      "id",
      "1001",
      "remote",
      "192.0.2.1",
      "local",
      "192.0.2.3",
      "dstport",
      "4789",
    );
    await run("ip", "-n", c, "addr", "add", "10.0.0.3/24", "dev", "evil");
    await run("ip", "-n", c, "link", "set", "evil", "address", "02:00:00:00:00:03", "up");
    const call = () => runOnMachine(["ip", "netns", "exec", c, "busybox", "ping", "-c", "2", "-W", "1", "10.0.0.1"]);
    /** A request for its address makes the node note who asks. */
    const noted = async () => (await here.exec("/half", "h", "ip", "neigh", "show", "10.0.0.3")).stdout;
    await call();
    expect(await noted()).toBe("");
    // Without the filter, the same packets do enter.
    await run("ip", "netns", "exec", a, "nft", "flush", "ruleset");
    await call();
    expect(await noted()).toContain("02:00:00:00:00:03");
    await run("ip", "-n", c, "link", "del", "evil");
    // The next reconcile puts the rules in force again.
    await here.reopen();
    expect(await tables()).toMatch(/_vxlan/);
    await answers();
  });

  test("quality and suspend work as on other links", async () => {
    await answers();
    const id = (await here.session.observe("/half"))!.links[0]!.id;
    await here.session.setLinkSuspend("/half", id, { a: true, b: false });
    expect(await ping("10.0.0.2")).not.toBe(0);
    await here.session.setLinkSuspend("/half", id, { a: false, b: false });
    await answers();
    const side = { delay: 100, jitter: 0, loss: 0, bandwidth: 0 };
    await here.session.setLinkQuality("/half", id, { a: side }, { save: false });
    const { stdout } = await here.exec("/half", "h", "ping", "-c", "1", "-W", "2", "10.0.0.2");
    expect(Number(/time=([\d.]+)/.exec(stdout)?.[1])).toBeGreaterThanOrEqual(100);
    await here.session.setLinkQuality("/half", id, {}, { save: false });
  });

  test("a changed number takes effect while the lab runs, and the earlier one again", async () => {
    await here.deploy("/half", lab("10.0.0.1", "192.0.2.2", 1002));
    expect(await live()).toMatchObject([{ vni: 1002 }]);
    expect(await ping("10.0.0.2")).not.toBe(0);
    await here.deploy("/half", lab("10.0.0.1", "192.0.2.2"));
    await answers();
  });

  test("plans refuse other machines, numbers and larger frames than the machines carry, and say what is allowed", async () => {
    const text = async (...wanted: Parameters<typeof lab>) => JSON.stringify(await blocked("/other", ...wanted));
    expect(await text("10.0.0.1", "198.51.100.1")).toMatch(
      /tunnel_refused.*no tunnel to 198\.51\.100\.1: its administrator allows tunnels to 192\.0\.2\.0\/30/,
    );
    expect(await text("10.0.0.1", "192.0.2.2", 5000)).toMatch(/tunnel_refused.*no tunnel with VNI 5000.*1000 to 1999/);
    expect(await text("10.0.0.1", "192.0.2.2", 1003, 1501)).toMatch(/tunnel_refused.*write mtu: 1500 on the link/);
    expect(await text("10.0.0.1", "192.0.2.2", 1003)).toBe("[]");
  });

  test("a machine without an address for links between machines makes no half of one, also for a lab.json that was changed by hand", async () => {
    await here.deploy("/hand", lab("10.0.0.9", "192.0.2.2", 1009));
    const file = join(here.paths.state, "labs", (await here.host.labId!("/hand"))!, "lab.json");
    const text = await readFile(file, "utf8");
    const definition = JSON.parse(text) as { readonly networks: readonly { vxlan?: Vxlan }[] };
    const networks = definition.networks.map((network) => ({
      ...network,
      vxlan: { remote: "198.51.100.1", vni: 9_000_001, cut: { mtu: 1450 } },
    }));
    await writeFile(file, JSON.stringify({ ...definition, networks }));
    await here.reopen();
    expect(await readTunnels(await here.sandbox("/hand"))).toEqual([]);
    expect(here.warnings.join("\n")).toMatch(/this machine has no address for links between machines: labwright serve --underlay ADDRESS/);
    await writeFile(file, text);
    await here.reopen();
    expect(await readTunnels(await here.sandbox("/hand"))).toMatchObject([{ vni: 1009 }]);
    await here.deploy("/hand", null);
  });

  test("no other lab gets the number of a lab, even while that is stopped", async () => {
    await expect(here.deploy("/other", lab("10.0.0.9", "192.0.2.2"))).rejects.toThrow(/VNI 1001 at port 4789 belongs to another lab/);
    // The refused lab has no filter, which would cut the tunnel of the other one.
    expect((await run("ip", "netns", "exec", a, "nft", "list", "tables")).stdout.match(/_vxlan/g)).toHaveLength(1);
    expect(await answers()).toBe(0);
    await here.deploy("/other", null);
    expect(await live()).toMatchObject([{ vni: 1001, up: true }]);
  });

  test("a number that a program of the machine has refuses the lab and leaves no device", async () => {
    await run("ip", "-n", a, "link", "add", "mine", "type", "vxlan", "id", "1009", "remote", "192.0.2.2", "dstport", "4789");
    await expect(here.deploy("/other", lab("10.0.0.9", "192.0.2.2", 1009))).rejects.toThrow(/VNI 1009 at port 4789 belongs/);
    expect((await run("ip", "netns", "exec", a, "nft", "list", "ruleset")).stdout).not.toContain("1009");
    await here.deploy("/other", null);
    await run("ip", "-n", a, "link", "del", "mine");
  });

  test("a thousand tunnels are made together, and removed", async () => {
    const sandbox = await here.sandbox("/half");
    const networks = Array.from({ length: 1000 }, (_, at) => 50_000 + at);
    const ip = async (lines: readonly string[]) => expect((await sandbox.run(["ip", "-batch", "-"], lines.join("\n"))).code).toBe(0);
    await ip(networks.map((id) => `link add name b${id} up type bridge`));
    const [own] = await live();
    const policy = { local: "192.0.2.1", remotes: ["192.0.2.0/30"], vnis, netns: a };
    const wanted = networks.map((network) => ({ network, remote: "192.0.2.2", vni: network, port: 4789, mtu: 1500 }));
    await ensureTunnels("many", sandbox, [own!, ...wanted], policy);
    expect(await live()).toHaveLength(1001);
    await ensureTunnels("many", sandbox, [own!], policy);
    expect(await live()).toHaveLength(1);
    await removeTunnels("many", policy, undefined);
    await ip([...networks.map((id) => `link set dev b${id} group 99`), "link del group 99"]);
    await answers();
  });

  test("a device that was removed by hand is made again when the service starts; a destroyed lab leaves no rule and no device", async () => {
    const [tunnel] = await live();
    await (await here.sandbox("/half")).run(["ip", "link", "del", `v${tunnel!.network}`]);
    await here.reopen();
    await answers();
    await here.deploy("/half", null);
    expect(await tables()).not.toMatch(/_vxlan/);
    const again = ["ip", "-n", a, "link", "add", "free", "type", "vxlan", "id", "1001", "remote", "192.0.2.2", "dstport", "4789"];
    await run(...again);
    await run("ip", "-n", a, "link", "del", "free");
  });
});
