import { readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { execCommand } from "../../../../console/dialogue/exec.ts";
import type { StopMode } from "../../../../engine/model/plan.ts";
import type { ChangeWarning, LiveNode } from "../../../host.ts";
import type { NodeProgram, ProcessEnd } from "../../../host-processes.ts";
import { idRange } from "../../machine/idmap.ts";
import { kernelFeatureScript } from "../../own-kernel/kernel-features.ts";
import { eventually, labOf, noIds, type TestLocalHost, testLocalHost } from "../../testing/test-local-host.fixture.ts";

/**
 * Virtual machines on an emulated processor: one lab, booted once, for all tests of a suite. Each test continues from the state that the previous
 * test left.
 */

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
/** Long enough for guests that react to the power button on a busy machine. A reopened host keeps it. */
const stopGrace = { graceful: hang, machine: hang };

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

/** Runs a command in the guest, at its serial console. */
async function guest(name: string, command: string): Promise<string> {
  const { stream } = await local.session.console(at, (await live(name)).id);
  try {
    return (await execCommand(stream, { command, timeoutMs: 120_000 })).output;
  } finally {
    stream.destroy();
  }
}

interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  readonly end: ProcessEnd;
}

/** Runs a program in the guest, by its agent. */
async function runInGuest(name: string, program: NodeProgram, input = ""): Promise<Ran> {
  const process = await local.session.processes!.start(at, (await live(name)).id, program, AbortSignal.timeout(hang));
  await process.write(Buffer.from(input));
  process.endInput();
  const said = { stdout: "", stderr: "" };
  for await (const item of process.output) {
    if (item.stream === "end") return { ...said, end: item };
    said[item.stream] += item.data;
  }
  throw new Error("the program did not end");
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
async function power(names: string, step: Power): Promise<readonly ChangeWarning[]> {
  const operations = names.split(" ").map((name) => ({
    id: name,
    of: name,
    op: step.do,
    kind: "node" as const,
    key: name,
    reason: { code: "requested" as const, text: "test" },
    disruption: "none" as const,
    affects: [],
    changes: [],
    prune: false,
    step: { ...step, node: name },
  }));
  const warnings: ChangeWarning[] = [];
  await local.session.apply(at, operations, { ids: noIds, step: () => undefined, warn: (warning) => warnings.push(warning) });
  return warnings;
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

/** Declares the tests. Without `extended`, those are left out whose guests boot once more, or whose subject other nodes' tests have, too. */
export function virtualMachines({ extended }: { readonly extended: boolean }): void {
  const extendedTest: typeof test | (() => void) = extended ? test : () => undefined;
  describe.runIf(process.getuid?.() === 0)("virtual machines", { timeout: hang }, () => {
    beforeAll(async () => {
      local = await testLocalHost({ stopGrace });
      await local.deploy(at, labOf(yaml()));
      await ready("v1", "v2");
    }, hang);
    afterAll(() => local[Symbol.asyncDispose](), hang);

    test("the guest's kernel loads what networks need when a program asks for it: VRFs, MPLS, bonds, tunnels", async () => {
      const tried = await runInGuest("v1", { argv: ["unshare", "-n", "sh", "-c", kernelFeatureScript] });
      expect(tried).toEqual({ stdout: "", stderr: "", end: { stream: "end", exitCode: 0 } });
      expect((await runInGuest("v1", { argv: ["ls", "/sys/class/net"] })).stdout).not.toContain("bond0");
    });

    test("boot, take startup-config and exec from their config drive, and reach nodes and each other", async () => {
      await reaches("h1", "10.0.0.1");
      expect(await guest("v2", "cat /tmp/said; hostname")).toBe("a b\nv2");
      await guestSays("v1", "ping -c1 -W2 10.0.1.2 > /dev/null; echo $?", "0");
      const mac = (await local.session.observe(at))?.nodes.find(({ name }) => name === "v1")?.interfaces[1]?.mac;
      expect(await guest("v1", "cat /sys/class/net/eth1/address")).toBe(mac);
      // A port that is not silent would send packets of the machine's kernel, such as neighbour discovery.
      expect(await guest("v2", "ip -6 neigh show dev eth0 | grep -v $(cat /sys/class/net/eth0/address) | wc -l")).toMatch(/^[01]$/);
    });

    test("run programs by the guest agent: output and error output apart, input, environment, directory, exit code, signals and a time limit", async () => {
      const program = 'read line; echo "$line $GREETING $PWD"; echo wrong >&2; exit 3';
      const wanted = { stdout: "hi there /tmp\n", stderr: "wrong\n", end: { stream: "end", exitCode: 3 } };
      const run = () => runInGuest("v1", { argv: ["sh", "-c", program], env: { GREETING: "there" }, cwd: "/tmp" }, "hi\n");
      // The agent starts at the end of the boot, after the console is ready.
      const first = await eventually(
        "an agent",
        hang,
        () => run().catch(String),
        (ran) => typeof ran !== "string",
      );
      expect(first).toEqual(wanted);
      expect(await Promise.all([run(), runInGuest("v1", { argv: ["hostname"] })])).toEqual([
        wanted,
        expect.objectContaining({ stdout: "v1\n" }),
      ]);
      expect((await runInGuest("v1", { argv: ["no-such-program"] })).end).toEqual({ stream: "end", exitCode: 127 });
      expect((await runInGuest("v1", { argv: ["sh", "-c", "kill -TERM $$"] })).end).toEqual({ stream: "end", signal: 15 });
      const late = await runInGuest("v1", { argv: ["sh", "-c", "sleep 4321 & wait"], timeoutMs: 500 });
      expect(late.end).toEqual({ stream: "end", signal: 9, reason: "timeout" });
      await guestSays("v1", "ps | grep -c 'sleep 432[1]'", "0");
      const id = (await live("v1")).id;
      const terminal = local.session.processes!.start(
        at,
        id,
        { argv: ["sh"], terminal: { columns: 80, rows: 24 } },
        AbortSignal.timeout(hang),
      );
      await expect(terminal).rejects.toMatchObject({ code: "unsupported", message: expect.stringContaining("v1") });
    });

    test("run as nobody in particular: no capability, another user, none of the machine's files", async () => {
      const pid = await hypervisorOf("v1");
      const text = await readFile(`/proc/${pid}/status`, "utf8");
      // In the lab's own range.
      const [, first] = (await readFile(`/proc/${pid}/uid_map`, "utf8")).trim().split(/\s+/);
      expect(text).toMatch(new RegExp(`^Uid:\\s+${Number(first) + 1000}\\s`, "m"));
      expect(Number(first)).not.toBe(idRange.base);
      expect(text).toMatch(/^CapEff:\s+0+$/m);
      expect(text).toMatch(/^CapBnd:\s+0+$/m);
      expect(text).toMatch(/^NoNewPrivs:\s+1$/m);
      expect(text).toMatch(/^Seccomp:\s+2$/m);
      expect(await readlink(`/proc/${pid}/ns/net`)).not.toBe(await readlink("/proc/self/ns/net"));
      const root = await readdir(`/proc/${pid}/root`);
      expect(root).toEqual(expect.arrayContaining(["disk.raw", "vm"]));
      expect(await readdir(`/proc/${pid}/root/etc`)).not.toContain("shadow");
    });

    test("are reported by capabilities: software if the hardware runs no guest", async () => {
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

    extendedTest("have links of a quality", async () => {
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

    extendedTest("are captured at their ports, as any node", async () => {
      const captures = local.session.captures!;
      const { id } = await captures.start(at, { nodeId: (await live("v1")).id, interface: "eth0", label: "v1:eth0", filter: "icmp" });
      await reaches("h1", "10.0.0.1");
      await eventually(
        "the ping's packets",
        hang,
        () => captures.get(at, id),
        ({ packets = 0 }) => packets >= 2,
      );
      // On a busy machine a guest may answer a ping only after the next request.
      for (const [type, from, to] of [
        [8, "10.0.0.2", "10.0.0.1"],
        [0, "10.0.0.1", "10.0.0.2"],
      ] as const) {
        const { packets } = await captures.packets(at, id, { after: 0, limit: 1, filter: `icmp.type == ${type}` });
        expect(packets).toMatchObject([{ from, to, summary: expect.stringContaining(type === 8 ? "request" : "reply") }]);
      }
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
      // A restored guest does not print its ready line again.
      await ready("v1");
      await guestSays("v1", "cat /tmp/word /root/boots", "remembered\nbooted");
      await reaches("h1", "10.0.0.1");
      // A saved state is used once.
      const { paths } = local;
      const observed = await local.session.observe(at);
      const files = await readdir(join(paths.state, "labs", observed!.id, "nodes", (await live("v1")).id, "upper", "vm"));
      expect(files).not.toContain("state");
    });

    extendedTest("that cannot be hibernated go on, and the nodes beside them that can be are hibernated", async () => {
      // A directory with the name of the state's file, so that hibernation fails.
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

    extendedTest("stop gracefully and in mode auto by their own shutdown, and keep what they wrote last", async () => {
      for (const name of ["v1", "v2"]) await guest(name, "echo late > /root/late");
      expect(await power("v1", { do: "stop", mode: 0 })).toEqual([]);
      expect(await power("v2", { do: "stop", mode: 3 })).toEqual([]);
      for (const name of ["v1", "v2"]) {
        const seen = await live(name);
        expect(seen.status).toBe("stopped");
        expect(seen).not.toHaveProperty("forced");
      }
      await power("v1 v2", { do: "start" });
      await ready("v1", "v2");
      expect(await guest("v1", "cat /root/boots /root/late")).toBe("booted\nbooted\nlate");
      expect(await guest("v2", "cat /root/late")).toBe("late");
    });

    extendedTest(
      "that do not heed the power button are switched off after a while, and a warning says so; at once in mode poweroff",
      async () => {
        for (const name of ["v1", "v2"]) await guest(name, "echo '#!/bin/sh' > /etc/acpi/PWRF/00000080; sync");
        Object.assign(stopGrace, { graceful: 500, machine: 400 });
        await local.reopen();
        const outcome = (node: string, ms: number) => [
          { code: "stop_forced", node, message: `${node} did not end within ${ms / 1000} s and was switched off` },
        ];
        expect(await power("v1", { do: "stop", mode: 0 })).toEqual(outcome("v1", 500));
        expect(await power("v2", { do: "stop", mode: 3 })).toEqual(outcome("v2", 400));
        Object.assign(stopGrace, { graceful: hang, machine: hang });
        await local.reopen();
        for (const name of ["v1", "v2"]) expect(await live(name)).toMatchObject({ status: "stopped", forced: true });
        await power("v1", { do: "start" });
        expect(await live("v1")).not.toHaveProperty("forced");
        expect(await power("v1", { do: "stop", mode: 1 })).toEqual([]);
        expect(await live("v1")).not.toHaveProperty("forced");
        await power("v2", { do: "wipe" });
        await power("v2", { do: "start" });
        await ready("v2");
        expect(await guest("v2", "cat /root/late 2>&1")).toContain("No such file");
      },
    );

    test("that shut down by themselves are stopped; whose hypervisor is killed have failed, with its code", async () => {
      const { stream } = await local.session.console(at, (await live("v2")).id);
      stream.write("poweroff\r");
      expect(await status("v2", "stopped")).not.toHaveProperty("forced");
      stream.destroy();
      await power("v1", { do: "start" });
      const hypervisor = await eventually(
        "v1's hypervisor",
        hang,
        () => hypervisorOf("v1").catch(() => 0),
        (pid) => pid > 0,
      );
      process.kill(hypervisor, "SIGKILL");
      expect(await status("v1", "failed")).toMatchObject({ exit_code: 137 });
    });

    extendedTest("whose startup-config or exec fails have failed with its exit code, as linux nodes do, and say which it was", async () => {
      const broken = `name: broken
nodes:
  c1: {template: vm, startup-config: "echo first\\nprintf partial\\nexit 7\\n"}
  c2: {template: vm, exec: ["true", "sh -c 'exit 9'", "touch /root/never"]}
  c3: {template: linux, startup-config: "exit 7\\n"}
links: []
`;
      await local.deploy("/broken", labOf(broken));
      const node = async (name: string) => (await local.session.status("/broken")).nodes.find((one) => one.name === name);
      const failed = (name: string) =>
        eventually(
          `${name} fails`,
          hang,
          () => node(name),
          (one) => one?.status === "failed",
        );
      const [c1, c2, c3] = [await failed("c1"), await failed("c2"), await failed("c3")];
      expect([c1?.exit_code, c2?.exit_code, c3?.exit_code]).toEqual([7, 9, 7]);
      const log = async (one: LiveNode | undefined) => String(await local.session.consoleLog!("/broken", one!.id));
      expect(await log(c1)).toMatch(/first\r?\npartial\r?\nlabwright: startup-config failed with exit code 7; the node ends/);
      expect(await log(c2)).toContain(`labwright: exec: "sh -c 'exit 9'" failed with exit code 9; the node ends`);
      await local.deploy("/broken", null);
    });

    test("that no machine can be are refused before anything is done", async () => {
      const before = JSON.stringify(await local.session.observe(at));
      const wrong = 'x1: {template: qemu, image: tiny, attributes: {arguments: "-drive file=/etc/passwd"}}';
      await expect(local.deploy(at, labOf(yaml({ more: wrong })))).rejects.toThrow("is not among those that a node may bring");
      // A lab with one more such node is not created partly either.
      const half = `name: half\nnodes:\n  a: {template: pc}\n  ${wrong}\nlinks: []\n`;
      await expect(local.deploy("/half", labOf(half))).rejects.toMatchObject({ code: "host_error", data: { applied: [] } });
      expect(await local.session.labs()).toEqual([at]);
      for (const [more, reason] of [
        ["x1: {template: qemu, image: tiny, attributes: {nic: ne2000}}", /^nic is "ne2000", not one of virtio-net-pci, /],
        ["x1: {template: vm, cpu: 0.5}", /^cpu is 0.5, not a whole number from 1 to 64$/],
        ["x1: {template: vm, attributes: {machine: pc}}", /^template vm has no attribute machine; it has accelerator$/],
      ] as const) {
        const { plan } = await local.plan(at, labOf(yaml({ more })));
        expect(plan.blocked.map(({ key, reason: { text } }) => [key, text])).toEqual([["x1", expect.stringMatching(reason)]]);
      }
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
}
