import { readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { execCommand } from "../../../console/exec.ts";
import type { StopMode } from "../../../engine/plan.ts";
import type { LiveNode } from "../../host.ts";
import { idRange } from "../idmap.ts";
import { eventually, labOf, noIds, type TestLocalHost, testLocalHost } from "../test-local-host.ts";

/** Virtual machines on a processor made of software: one lab, booted once, for all tests of this file. They build on each other's end. */
const at = "/vms";
const hang = 300_000;

const links = ['{endpoints: ["v1:eth0", "h1:eth0"]}', '{endpoints: ["v1:eth1", "v2:eth0"]}'];
const yaml = (change: { readonly v1?: string; readonly links?: readonly string[]; readonly more?: string } = {}) => `
name: vms
nodes:
  v1:
    template: vm
    startup-config: |
      ip address add 10.0.0.1/24 dev eth0
      ip address add 10.0.1.1/24 dev eth1
      echo booted >> /root/boots
    ${change.v1 ?? ""}
  v2:
    template: vm
    exec: ["ip address add 10.0.1.2/24 dev eth0", "echo one; echo 'a b' > /tmp/said"]
  h1:
    template: linux
    exec: ["ip address add 10.0.0.2/24 dev eth0"]
  ${change.more ?? ""}
links: [${(change.links ?? links).join(", ")}]
`;

let local: TestLocalHost;

beforeAll(async () => {
  local = await testLocalHost();
  await local.deploy(at, labOf(yaml()));
  await ready("v1", "v2");
}, hang);
afterAll(() => local[Symbol.asyncDispose](), hang);

async function live(name: string): Promise<LiveNode> {
  const { nodes } = await local.session.status(at);
  const node = nodes.find((one) => one.name === name);
  if (node === undefined) throw new Error(`no node ${name}`);
  return node;
}

async function status(name: string, ...wanted: readonly string[]): Promise<LiveNode> {
  return eventually(
    `${name} is ${wanted}`,
    hang,
    () => live(name),
    (node) => wanted.includes(node.status),
  );
}

async function ready(...names: readonly string[]): Promise<void> {
  for (const name of names)
    await eventually(
      `${name} is ready`,
      hang,
      () => live(name),
      (node) => node.ready === true,
    );
}

/** A command in the guest, at its serial console. */
async function guest(name: string, command: string): Promise<string> {
  const { stream } = await local.session.console(at, (await live(name)).id);
  try {
    return (await execCommand(stream, { command, timeoutMs: 120_000 })).output;
  } finally {
    stream.destroy();
  }
}

async function guestSays(name: string, command: string, wanted: RegExp | string): Promise<void> {
  await eventually(
    `${name}: ${command}`,
    hang,
    () => guest(name, command),
    (said) => (typeof wanted === "string" ? said === wanted : wanted.test(said)),
  );
}

type Power = { readonly do: "start" } | { readonly do: "stop"; readonly mode: StopMode } | { readonly do: "wipe" };

/** @param names of one node, or of several with blanks between */
async function power(names: string, step: Power): Promise<void> {
  const operations = names.split(" ").map((name) => ({
    id: name,
    of: name,
    op: step.do,
    kind: "node" as const,
    key: name,
    reason: { code: "test", text: "test" },
    disruption: "none" as const,
    affects: [],
    changes: [],
    prune: false,
    step: { ...step, node: name },
  }));
  await local.session.apply(at, operations, { ids: noIds, step: () => undefined });
}

async function reaches(from: string, to: string): Promise<void> {
  await eventually(
    `${from} reaches ${to}`,
    hang,
    () => local.exec(at, from, "ping", "-c1", "-W2", to),
    ({ code }) => code === 0,
  );
}

/** The machine's processes of this lab's hypervisors, by the MAC address of their first interface. */
async function hypervisors(): Promise<readonly { readonly pid: number; readonly argv: readonly string[] }[]> {
  const observed = await local.session.observe(at);
  const macs = observed?.nodes.flatMap(({ interfaces }) => interfaces.flatMap(({ mac }) => mac ?? [])) ?? [];
  const found: { pid: number; argv: string[] }[] = [];
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const argv = (await readFile(`/proc/${name}/cmdline`, "utf8").catch(() => "")).split("\0");
    if (argv[0] === "/usr/bin/qemu-system-x86_64" && macs.some((mac) => argv.join(" ").includes(mac)))
      found.push({ pid: Number(name), argv });
  }
  return found;
}

async function hypervisorOf(name: string): Promise<number> {
  const mac = (await local.session.observe(at))?.nodes.find((node) => node.name === name)?.interfaces[0]?.mac;
  const found = (await hypervisors()).find(({ argv }) => mac !== undefined && argv.join(" ").includes(`mac=${mac}`));
  if (found === undefined) throw new Error(`no hypervisor of ${name}`);
  return found.pid;
}

describe.runIf(process.getuid?.() === 0)("virtual machines", { timeout: hang }, () => {
  test("boot, take startup-config and exec from their config drive, and reach nodes and each other", async () => {
    await reaches("h1", "10.0.0.1");
    expect(await guest("v2", "cat /tmp/said; hostname")).toBe("a b\nv2");
    await guestSays("v1", "ping -c1 -W2 10.0.1.2 > /dev/null; echo $?", "0");
    const mac = (await local.session.observe(at))?.nodes.find(({ name }) => name === "v1")?.interfaces[1]?.mac;
    expect(await guest("v1", "cat /sys/class/net/eth1/address")).toBe(mac);
    // Labels of the kernel's own would come out of a port that were not silent: neighbour discovery of somebody who is no node.
    expect(await guest("v2", "ip -6 neigh show dev eth0 | grep -v $(cat /sys/class/net/eth0/address) | wc -l")).toMatch(/^[01]$/);
  });

  test("run as nobody in particular: no capability, another user, none of the machine's files", async () => {
    const pid = await hypervisorOf("v1");
    const text = await readFile(`/proc/${pid}/status`, "utf8");
    expect(text).toMatch(new RegExp(`^Uid:\\s+${idRange.base + 1000}\\s`, "m"));
    expect(text).toMatch(/^CapEff:\s+0+$/m);
    expect(text).toMatch(/^CapBnd:\s+0+$/m);
    expect(text).toMatch(/^NoNewPrivs:\s+1$/m);
    expect(text).toMatch(/^Seccomp:\s+2$/m);
    expect(await readlink(`/proc/${pid}/ns/net`)).not.toBe(await readlink("/proc/self/ns/net"));
    const root = await readdir(`/proc/${pid}/root`);
    expect(root).toEqual(expect.arrayContaining(["disk.raw", "vm"]));
    expect(await readdir(`/proc/${pid}/root/etc`)).not.toContain("shadow");
  });

  test("are told truly by capabilities: software where hardware runs no guest", async () => {
    const { features, stopModes } = await local.session.capabilities();
    const flags = /^flags\s*:.*\b(vmx|svm)\b/m.test(await readFile("/proc/cpuinfo", "utf8"));
    if (!flags) expect(features.kvm).toBe(false);
    expect(features.hibernate).toBe(true);
    expect(stopModes).toEqual([0, 1, 2, 3]);
    const accelerator = (await hypervisors())[0]?.argv.find((word) => word.includes("accel="));
    expect(accelerator).toBe(`pc,accel=${features.kvm ? "kvm" : "tcg"}`);
  });

  test("see the carrier of a link that is suspended and resumed", async () => {
    const link = (await local.session.observe(at))?.links.find(({ endpoints }) =>
      endpoints.some((end) => "nodeId" in end && end.interface === "eth1"),
    );
    await guestSays("v1", "cat /sys/class/net/eth1/carrier", "1");
    await local.session.setLinkSuspend(at, link!.id, { a: true });
    await guestSays("v1", "cat /sys/class/net/eth1/carrier", "0");
    expect(await guest("v1", "cat /sys/class/net/eth0/carrier")).toBe("1");
    await local.session.setLinkSuspend(at, link!.id, { a: false });
    await guestSays("v1", "cat /sys/class/net/eth1/carrier", "1");
    await guestSays("v1", "ping -c1 -W2 10.0.1.2 > /dev/null; echo $?", "0");
  });

  test("have links of a quality", async () => {
    const link = (await local.session.observe(at))?.links.find(({ endpoints }) =>
      endpoints.some((end) => "nodeId" in end && end.interface === "eth1"),
    );
    const answer = await local.session.setLinkQuality(at, link!.id, { a: { loss: 100 } }, { save: false });
    expect(answer.effective.a?.loss).toBe(100);
    expect(await guest("v1", "ping -c2 -W1 10.0.1.2 > /dev/null; echo $?")).toBe("1");
    await local.session.setLinkQuality(at, link!.id, {}, { save: false });
    await guestSays("v1", "ping -c1 -W2 10.0.1.2 > /dev/null; echo $?", "0");
  });

  test("get an interface while they run, and lose it again", async () => {
    const more = [...links, '{endpoints: ["v2:eth1", "h1:eth1"]}'];
    const { plan } = await local.deploy(at, labOf(yaml({ links: more })));
    expect(plan.actions.map(({ disruption }) => disruption)).not.toContain("restart");
    await guestSays("v2", "cat /sys/class/net/eth1/address", /^02:/);
    await guest("v2", "ip link set eth1 up; ip address add 10.0.2.2/24 dev eth1");
    await local.exec(at, "h1", "ip", "address", "add", "10.0.2.1/24", "dev", "eth1");
    await reaches("h1", "10.0.2.2");
    await local.deploy(at, labOf(yaml()));
    await guestSays("v2", "cat /sys/class/net/eth1/carrier 2>&1", /^0$|No such|Invalid/);
    expect((await live("v2")).status).toBe("running");
  });

  test("are captured at their ports, as any node", async () => {
    const captures = local.session.captures!;
    const { id } = await captures.start(at, { nodeId: (await live("v1")).id, interface: "eth0", label: "v1:eth0", filter: "icmp" });
    await reaches("h1", "10.0.0.1");
    await eventually(
      "the ping's packets",
      hang,
      () => captures.get(at, id),
      ({ packets = 0 }) => packets >= 2,
    );
    const { packets } = await captures.packets(at, id, { after: 0, limit: 2, filter: "" });
    expect(packets.map(({ from, to, summary }) => [from, to, /request|reply/.exec(summary)?.[0]])).toEqual([
      ["10.0.0.2", "10.0.0.1", "request"],
      ["10.0.0.1", "10.0.0.2", "reply"],
    ]);
    expect(await captures.stop(at, id)).toMatchObject({ status: "stopped", dropped: 0 });
    await captures.remove(at, id);
  });

  test("need a restart for other cpu, ram, attributes and startup-config, and plans say so", async () => {
    for (const change of ["cpu: 2", "ram: 256", "attributes: {accelerator: tcg}"]) {
      const { plan } = await local.plan(at, labOf(yaml({ v1: change })));
      const action = plan.actions.find(({ key }) => key === "v1");
      expect([change, action?.disruption], plan.text).toEqual([change, "restart"]);
    }
    const { plan } = await local.plan(at, labOf(yaml({ v1: "env: {A: b}" })));
    expect(plan.unsupported.join()).toContain("v1.env");
  });

  test("are left running when the service goes, and taken over", async () => {
    const before = await hypervisorOf("v1");
    await local.reopen();
    expect(await live("v1")).toMatchObject({ status: "running", ready: true });
    expect(await hypervisorOf("v1")).toBe(before);
    expect(await guest("v1", "cat /root/boots")).toBe("booted");
  });

  test("hibernate with what they have in memory, across a restart of the service, and go on", async () => {
    await guest("v1", "echo remembered > /tmp/word");
    await power("v1", { do: "stop", mode: 2 });
    expect((await live("v1")).status).toBe("suspended");
    await expect(hypervisorOf("v1")).rejects.toThrow("no hypervisor");
    await local.reopen();
    expect((await live("v1")).status).toBe("suspended");
    await power("v1", { do: "start" });
    await status("v1", "running");
    await guestSays("v1", "cat /tmp/word /root/boots", "remembered\nbooted");
    await reaches("h1", "10.0.0.1");
    // What was saved is used once.
    const { paths } = local;
    const observed = await local.session.observe(at);
    const files = await readdir(join(paths.state, "labs", observed!.id, "nodes", (await live("v1")).id, "upper", "vm"));
    expect(files).not.toContain("state");
  });

  test("that cannot be hibernated go on, and the nodes beside them that can be are hibernated", async () => {
    // Something in the way of the state's file.
    expect((await local.exec(at, "v1", "mkdir", "/vm/state.new")).code).toBe(0);
    const refused = { code: "host_error", message: expect.stringContaining("directory") };
    await expect(power("v1 v2", { do: "stop", mode: 2 })).rejects.toMatchObject(refused);
    await local.reopen();
    expect((await live("v1")).status).toBe("running");
    expect((await live("v2")).status).toBe("suspended");
    expect((await local.exec(at, "v1", "rmdir", "/vm/state.new")).code).toBe(0);
    await power("v2", { do: "start" });
    await status("v2", "running");
  });

  test("stop gracefully by their own shutdown, keep their disk, and lose it with a wipe", async () => {
    await power("v1", { do: "stop", mode: 0 });
    expect((await live("v1")).status).toBe("stopped");
    await power("v2", { do: "stop", mode: 1 });
    await power("v2", { do: "wipe" });
    await power("v2", { do: "start" });
    await power("v1", { do: "start" });
    await ready("v1", "v2");
    // Twice: the disk was kept, and its file system was put down in order.
    expect(await guest("v1", "cat /root/boots")).toBe("booted\nbooted");
    expect(await guest("v2", "cat /root/boots 2>&1")).toContain("No such file");
  });

  test("that shut down by themselves are stopped; whose hypervisor is killed have failed, with its code", async () => {
    const { stream } = await local.session.console(at, (await live("v2")).id);
    stream.write("poweroff\r");
    await status("v2", "stopped");
    stream.destroy();
    process.kill(await hypervisorOf("v1"), "SIGKILL");
    expect(await status("v1", "failed")).toMatchObject({ exit_code: 137 });
  });

  test("that no machine can be are refused before anything is done", async () => {
    const before = JSON.stringify(await local.session.observe(at));
    const wrong = 'x1: {template: qemu, image: tiny, attributes: {arguments: "-drive file=/etc/passwd"}}';
    await expect(local.deploy(at, labOf(yaml({ more: wrong })))).rejects.toThrow("is not among those that a node may bring");
    const nic = "x1: {template: qemu, image: tiny, attributes: {nic: ne2000}}";
    await expect(local.deploy(at, labOf(yaml({ more: nic })))).rejects.toThrow("nic is");
    expect(JSON.parse(before).nodes).toHaveLength(3);
    expect((await local.session.observe(at))?.nodes).toHaveLength(3);
  });

  test("have failed when their supervisor is killed, and are gone without a trace when their lab is destroyed", async () => {
    await power("v2", { do: "start" });
    const [found] = await eventually("v2's hypervisor", hang, hypervisors, (all) => all.length === 1);
    const sandbox = await local.sandbox(at);
    const supervisor = (await sandbox.run(["sh", "-c", "grep -lx 'Name:.vm' /proc/[0-9]*/status"])).stdout.replace(/\D+/g, " ").trim();
    await sandbox.run(["kill", "-9", ...supervisor.split(" ")]);
    expect(await status("v2", "failed")).toMatchObject({ exit_code: 137 });
    expect(await hypervisors()).toEqual([]);
    await power("v2", { do: "start" });
    await eventually("v2's hypervisor", hang, hypervisors, (all) => all.length === 1);
    await local.deploy(at, null);
    expect(await readFile(`/proc/${found?.pid}/cmdline`, "utf8").catch(() => "")).toBe("");
    expect(await readdir(join(local.paths.state, "labs"))).toEqual([]);
  });
});
