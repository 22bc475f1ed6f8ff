import { readdir, readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { switchBridge } from "../links/fabric.ts";
import { type Sandbox, switchingNode } from "../sandbox/sandbox.ts";
import { eventually, labOf, type TestLocalHost, testLocalHost } from "../testing/test-local-host.fixture.ts";
import { readSwitches } from "./read-switches.ts";

const host = (n: number) => `  h${n}: {template: linux, exec: ["ip addr add 10.0.0.${n}/24 dev eth0"]}`;

interface Settings {
  readonly sw1?: string;
  readonly sw2?: string;
}

const pair = (trunk: string, { sw1 = "", sw2 = "" }: Settings = {}, second = ", eth2: {vlan: 20}") =>
  labOf(`name: t
nodes:
  sw1: {template: switch, switching: {interfaces: {eth1: {vlan: 10}${second}${trunk}${sw1}}}
  sw2: {template: switch, switching: {interfaces: {eth1: {vlan: 10}, eth2: {vlan: 20}${trunk}${sw2}}}
${[1, 2, 3, 4].map(host).join("\n")}
links:
  - ["sw1:eth1", "h1:eth0"]
  - ["sw1:eth2", "h2:eth0"]
  - ["sw2:eth1", "h3:eth0"]
  - ["sw2:eth2", "h4:eth0"]
  - ["sw1:eth3", "sw2:eth3"]
  - ["sw1:eth4", "sw2:eth4"]
`);

const lag = (lacp: string) => `}, lag: {lag1: {members: [eth3, eth4], lacp: ${lacp}, mode: trunk}}`;
const plain = pair(lag("active"));

describe.skipIf(process.getuid?.() !== 0)("VLAN-aware switches", () => {
  let local: TestLocalHost;
  beforeAll(async () => {
    local = await testLocalHost({ diskPace: { askMs: 20, maxMs: 200 } });
    await local.deploy("/t", plain);
  });
  afterAll(async () => {
    await local[Symbol.asyncDispose]();
  });

  const reaches = async (from: number, to: number) =>
    (await local.exec("/t", `h${from}`, "ping", "-c", "1", "-W", "1", `10.0.0.${to}`)).code === 0;
  const whenReaches = (from: number, to: number) => eventually(`h${from} reaches h${to}`, 30_000, () => reaches(from, to), Boolean);
  const run = async (...argv: readonly string[]) => (await local.sandbox("/t")).exec(switchingNode, argv, { timeoutMs: 30_000 });
  const bridge = (node: string) => switchBridge(Number(local.ids("/t").nodes[node]));
  const read = async (node: string) => (await readSwitches(await local.sandbox("/t"))).get(bridge(node))!;
  const statusOf = async (node: string) => (await local.session.status("/t")).nodes.find(({ name }) => name === node)?.status;
  const linkId = async (at: number) => (await local.session.observe("/t"))!.links[at]!.id;
  const linkBetween = async (index: number) =>
    (await local.session.observe("/t"))!.links.findIndex(({ endpoints }) =>
      endpoints.every((end) => "interface" in end && end.interface === `eth${index}`),
    );
  const suspend = async (at: number, suspended: boolean) =>
    local.session.setLinkSuspend("/t", await linkId(at), { a: suspended, b: suspended });
  const power = async (how: "start" | "stop", ...nodes: readonly string[]) => {
    const operations = nodes.map((node, at) => ({
      id: `o${at}`,
      action: `a${at}`,
      key: node,
      step: how === "start" ? { do: how, node } : { do: how, node, mode: 3 as const },
    }));
    await local.session.apply("/t", operations as never, { ids: local.ids("/t"), step: () => undefined });
  };
  const daemons = async (): Promise<readonly { readonly pid: number; readonly name: string }[]> => {
    const sandbox = await local.sandbox("/t");
    return processesBelow(sandbox, ["ovsdb-server", "ovs-vswitchd"]);
  };

  test("hosts of one VLAN reach each other across the trunk, with TCP, and no other VLAN", async () => {
    await whenReaches(1, 3);
    await whenReaches(2, 4);
    expect(await reaches(1, 2)).toBe(false);
    expect(await reaches(1, 4)).toBe(false);
    // The kernel leaves checksums and the cutting of large packets to hardware that these ports do not have.
    await local.exec("/t", "h3", "sh", "-c", "head -c 3000000 /dev/zero > /tmp/zeros; nc -l -p 5000 -e cat /tmp/zeros & sleep 0.2");
    const received = await eventually(
      "bytes by TCP",
      20_000,
      async () => (await local.exec("/t", "h1", "sh", "-c", "nc -w 5 10.0.0.3 5000 < /dev/null | wc -c")).stdout.trim(),
      (bytes) => bytes !== "0",
    );
    expect(received).toBe("3000000");
  });

  test("a change of a VLAN is live: no node restarts, and other ports keep their devices", async () => {
    const before = await local.session.status("/t");
    const changed = pair(lag("active").replace("mode: trunk", "vlans: [10, 20-29], native-vlan: 20"));
    const { plan } = await local.deploy("/t", changed);
    expect(plan.actions.map(({ disruption }) => disruption)).toEqual(["none", "none"]);
    const port = (await read("sw1")).ports.find(({ name }) => name.endsWith("lag1"))!;
    expect(port).toMatchObject({ tag: 20, vlanMode: "native-untagged", trunks: [10, ...Array.from({ length: 10 }, (_, i) => 20 + i)] });
    await whenReaches(1, 3);
    expect((await local.session.status("/t")).nodes.map(({ name, status }) => [name, status])).toEqual(
      before.nodes.map(({ name, status }) => [name, status]),
    );
    await local.deploy("/t", plain);
    expect((await local.plan("/t", plain)).plan.actions).toEqual([]);
  });

  test("LACP joins both links; traffic goes on when one of them has no carrier", async () => {
    const members = async () => (await read("sw1")).ports.find(({ name }) => name.endsWith("lag1"))!.interfaces;
    await eventually("both members", 30_000, members, (all) => all.length === 2 && all.every(({ lacpCurrent }) => lacpCurrent === true));
    for (const at of [0, 1]) {
      const cut = await linkBetween(3 + at);
      await suspend(cut, true);
      await whenReaches(1, 3);
      await suspend(cut, false);
      await eventually("both members", 30_000, members, (all) => all.every(({ lacpCurrent }) => lacpCurrent === true));
    }
  });

  test("frames reach only the ports of their switch, and tagged frames of a host none", async () => {
    const trunks = [3, 4].map((at) => linkBetween(at));
    for (const cut of trunks) await suspend(await cut, true);
    expect(await reaches(1, 3)).toBe(false);
    for (const cut of trunks) await suspend(await cut, false);
    await whenReaches(1, 3);
    const trace = async (vlan: string) => {
      const frame = `in_port=n${local.ids("/t").nodes["sw1"]}x1,${vlan}dl_src=02:00:00:00:00:01,dl_dst=ff:ff:ff:ff:ff:ff`;
      return /Datapath actions: (.*)/.exec((await run("ovs-appctl", "ofproto/trace", bridge("sw1"), frame)).stdout)?.[1];
    };
    expect(await trace("dl_vlan=20,")).toBe("drop");
    expect(await trace("dl_vlan=10,")).toBe("drop");
    expect(await trace("")).toContain("push_vlan(vid=10");
  });

  test("a loop of switches leaves nodes and service usable, and its storm ends with a pulled cable", async () => {
    await local.deploy("/t", pair(", eth3: {mode: trunk}, eth4: {mode: trunk}", { sw1: "}", sw2: "}" }));
    const received = async () => Number((await local.exec("/t", "h3", "cat", "/sys/class/net/eth0/statistics/rx_packets")).stdout);
    await reaches(1, 3);
    const before = await received();
    await eventually("a storm", 30_000, received, (count) => count > before + 5_000);
    expect(await statusOf("sw1")).toBe("running");
    const cut = await linkBetween(4);
    await suspend(cut, true);
    await whenReaches(1, 3);
    const calm = async () => {
      const count = await received();
      await local.exec("/t", "h3", "sleep", "0.3");
      return (await received()) - count;
    };
    await eventually("the end of the storm", 30_000, calm, (frames) => frames < 50);
    await local.deploy("/t", plain);
    await suspend(cut, false);
    await whenReaches(1, 3);
  });

  test("RSTP blocks one of two parallel links, and uses it when the other fails", async () => {
    const trunks = ", eth3: {mode: trunk}, eth4: {mode: trunk}";
    await local.deploy("/t", pair(trunks, { sw1: "}, spanning-tree: {mode: rstp, priority: 4096}", sw2: "}, spanning-tree: rstp" }));
    const roles = async () =>
      (await read("sw2")).ports
        .flatMap(({ interfaces, rstpStatus }) => (/x[34]$/.test(interfaces[0]?.name ?? "") ? [rstpStatus["rstp_port_role"]] : []))
        .sort();
    await eventually("roles", 60_000, roles, (all) => all.join() === "Alternate,Root");
    await whenReaches(1, 3);
    const forwards = (await read("sw2")).ports.find(({ rstpStatus }) => rstpStatus["rstp_port_role"] === "Root")!.name.slice(-1);
    const cut = await linkBetween(Number(forwards));
    await suspend(cut, true);
    await whenReaches(1, 3);
    await suspend(cut, false);
    await local.deploy("/t", plain);
    await whenReaches(1, 3);
  });

  test("a mirror copies the frames of a port of another VLAN", async () => {
    await local.deploy("/t", pair(lag("off"), { sw1: ", mirror: {from: [eth1], to: eth2}" }, ""));
    await whenReaches(1, 3);
    const argv = ["timeout", "20", "tcpdump", "-c", "1", "-nni", "eth0", "icmp and src 10.0.0.3"];
    const seen = local.exec("/t", "h2", ...argv);
    let isSeen = false;
    void seen.finally(() => {
      isSeen = true;
    });
    await eventually("a copy", 20_000, async () => (await reaches(1, 3)) && isSeen, Boolean);
    expect((await seen).stdout).toContain("10.0.0.3 > 10.0.0.1: ICMP echo reply");
    await local.deploy("/t", plain);
  });

  test("the state of switches is read: VLANs, members, addresses; a change by hand is marked", async () => {
    await whenReaches(1, 3);
    const id = local.ids("/t").nodes["sw1"]!;
    const stateOf = async () => (await local.session.switches!("/t")).get(id)!;
    expect((await stateOf()).ports).toEqual([
      { name: "eth1", mode: "access", vlan: 10, interfaces: [{ name: "eth1", isUp: true }], differs: false },
      { name: "eth2", mode: "access", vlan: 20, interfaces: [{ name: "eth2", isUp: true }], differs: false },
      {
        name: "lag1",
        mode: "trunk",
        vlan: 1,
        lacp: "active",
        interfaces: ["eth3", "eth4"].map((name) => ({ name, isUp: true, lacpCurrent: true })),
        differs: false,
      },
    ]);
    const { addresses } = await stateOf();
    expect(addresses.map(({ vlan, port }) => `${vlan} ${port}`).sort()).toEqual(expect.arrayContaining(["10 eth1", "10 lag1"]));
    await run("ovs-vsctl", "set", "Port", `n${id}x1`, "tag=77");
    expect((await stateOf()).ports[0]).toMatchObject({ vlan: 77, differs: true });
    await run("ovs-vsctl", "set", "Port", `n${id}x1`, "tag=10");
    expect((await stateOf()).ports[0]).toMatchObject({ vlan: 10, differs: false });
  });

  test("delay, suspend and capture filters of links apply to ports of switches", async () => {
    const at = (await local.session.observe("/t"))!.links.findIndex(({ endpoints }) =>
      endpoints.some((end) => "nodeId" in end && end.nodeId === local.ids("/t").nodes["h1"]),
    );
    const side = { delay: 40, jitter: 0, loss: 0, bandwidth: 0 };
    await local.session.setLinkQuality("/t", await linkId(at), { a: side, b: side }, { save: false });
    await whenReaches(1, 3);
    const { stdout } = await local.exec("/t", "h1", "ping", "-c", "1", "10.0.0.3");
    expect(Number(/time=([\d.]+)/.exec(stdout)?.[1])).toBeGreaterThan(79);
    await local.session.setLinkQuality("/t", await linkId(at), {}, { save: false });
    await suspend(at, true);
    expect(await reaches(1, 3)).toBe(false);
    await suspend(at, false);
    await whenReaches(1, 3);
  });

  test("a switch that stops passes nothing and leaves the others alone; the daemons end with the last one", async () => {
    expect((await daemons()).length).toBe(2);
    await power("stop", "sw2");
    expect([await statusOf("sw1"), await statusOf("sw2")]).toEqual(["running", "stopped"]);
    expect([...(await readSwitches(await local.sandbox("/t"))).keys()]).toEqual([bridge("sw1")]);
    expect(await reaches(1, 3)).toBe(false);
    await power("stop", "sw1");
    expect(await daemons()).toEqual([]);
    await power("start", "sw1", "sw2");
    await whenReaches(1, 3);
    expect(await reaches(1, 2)).toBe(false);
  });

  test("daemons that are killed are started again with all VLANs", async () => {
    for (const { pid, name } of await daemons()) {
      process.kill(pid, "SIGKILL");
      await eventually(`another ${name}`, 20_000, daemons, (all) => all.some((one) => one.name === name && one.pid !== pid));
      await whenReaches(1, 3);
      expect(await reaches(1, 2)).toBe(false);
    }
    expect(await statusOf("sw1")).toBe("running");
  });

  test("daemons that hang are reported with the next step", async () => {
    for (const { pid } of await daemons()) {
      process.kill(pid, "SIGSTOP");
      try {
        await expect(local.session.switches!("/t")).rejects.toMatchObject({
          code: "host_timeout",
          message: expect.stringContaining("VLAN-aware switches do not answer: stop all VLAN-aware switches"),
        });
      } finally {
        process.kill(pid, "SIGCONT");
      }
    }
    await whenReaches(1, 3);
  });

  test("the whole place of the daemons is made again after it was killed", async () => {
    const [first] = await daemons();
    const init = Number(/^PPid:\s+(\d+)/m.exec(await readFile(`/proc/${await parentOf(first!.pid)}/status`, "utf8"))?.[1]);
    expect(await readFile(`/proc/${init}/cmdline`, "utf8")).toContain(`node=${switchingNode}`);
    process.kill(init, "SIGKILL");
    await eventually("other daemons", 30_000, daemons, (all) => all.length === 2 && !all.some(({ pid }) => pid === first!.pid));
    await whenReaches(1, 3);
    expect(await reaches(1, 2)).toBe(false);
    expect(await statusOf("sw1")).toBe("running");
  });

  test("switches survive a restart of the service, and are changed after it", async () => {
    const before = await daemons();
    await local.reopen();
    expect(await statusOf("sw2")).toBe("running");
    await whenReaches(1, 3);
    await local.deploy("/t", pair(lag("active"), { sw1: "" }));
    expect(await daemons()).toEqual(before);
  });

  test("a switch gets VLANs and loses them while it runs", async () => {
    const flat = {
      ...plain,
      nodes: plain.nodes.map(({ switching, ...node }) => (node.key === "sw2" ? node : { ...node, ...(switching && { switching }) })),
    };
    const noLoop = { ...flat, links: flat.links.filter(({ key }) => !key.includes("eth4")) };
    await local.deploy("/t", noLoop);
    await whenReaches(3, 4);
    expect(await statusOf("sw2")).toBe("running");
    await local.deploy("/t", plain);
    await whenReaches(1, 3);
    expect(await reaches(3, 4)).toBe(false);
  });

  test("nodes and the daemons themselves have no way to each other's files, and the daemons have few rights", async () => {
    expect((await local.exec("/t", "h1", "ls", "/run/openvswitch")).code).not.toBe(0);
    for (const { pid } of await daemons()) {
      const status = await readFile(`/proc/${pid}/status`, "utf8");
      expect(/^Uid:\s+(\d+)/m.exec(status)?.[1]).not.toBe("0");
      // NET_BIND_SERVICE, NET_BROADCAST, NET_ADMIN, NET_RAW and IPC_LOCK at most, in the lab's namespaces.
      expect(BigInt(`0x${/^CapEff:\s+([0-9a-f]+)/m.exec(status)?.[1]}`) & ~0x7c00n).toBe(0n);
      expect(/^NoNewPrivs:\s+(\d)/m.exec(status)?.[1]).toBe("1");
    }
    // The kernel itself sends nothing at the ports.
    expect((await run("sh", "-c", "cat /proc/sys/net/ipv6/conf/*/disable_ipv6 2> /dev/null | sort -u")).stdout.trim()).toBe("1");
  });

  test("what users write beside the daemons is bounded, and a tool that they replace harms only their lab", async () => {
    await run("sh", "-c", "printf '#!/bin/sh\\necho nonsense\\n' > /usr/bin/ovsdb-client");
    await expect(local.session.switches!("/t")).rejects.toMatchObject({
      code: "host_error",
      message: expect.stringContaining("unusable answer"),
    });
    const fill = "for i in $(seq 1 60); do head -c 2000000 /dev/zero > /root/f$i || exit 0; done";
    // It never ends: it is suspended with the daemons, and then stopped with them.
    void run("sh", "-c", fill).catch(() => undefined);
    await eventually(
      "suspended",
      150_000,
      () => statusOf("sw1"),
      (status) => status === "suspended",
    );
    await power("stop", "sw1", "sw2");
    await power("start", "sw1", "sw2");
    await whenReaches(1, 3);
    expect((await local.session.switches!("/t")).size).toBe(2);
  });

  test("a node without switching cannot have it", async () => {
    const wrong = labOf("name: w\nnodes: {h1: {template: linux, switching: {}}, sw: {template: switch, switching: {interfaces: {}}}}");
    const { plan } = await local.plan("/w", wrong);
    expect(plan.unsupported).toEqual([]);
    const declared = labOf("name: w\nnodes: {h1: {template: linux, switching: {spanning-tree: rstp}}}");
    expect((await local.plan("/w", declared)).plan.unsupported.join()).toContain("h1.switching: only a node of template switch has it");
  });
});

async function parentOf(pid: number): Promise<number> {
  return Number(/^PPid:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1]);
}

/** Returns the processes of the lab with these names. */
async function processesBelow(sandbox: Sandbox, names: readonly string[]) {
  const found: { pid: number; name: string; parent: number }[] = [];
  for (const entry of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const stat = await readFile(`/proc/${entry}/stat`, "utf8").catch(() => "");
    const [, name = "", parent = ""] = /\((.*)\) \S (\d+)/.exec(stat) ?? [];
    if (stat !== "") found.push({ pid: Number(entry), name, parent: Number(parent) });
  }
  const parents = new Map(found.map(({ pid, parent }) => [pid, parent]));
  const isBelow = (pid: number | undefined): boolean => pid !== undefined && pid > 1 && (pid === sandbox.pid || isBelow(parents.get(pid)));
  return found.flatMap(({ pid, name }) => (names.includes(name) && isBelow(pid) ? [{ pid, name }] : [])).sort((a, b) => a.pid - b.pid);
}
