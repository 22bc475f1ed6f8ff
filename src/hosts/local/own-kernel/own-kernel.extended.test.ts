import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { readdir, realpath, rm, symlink, truncate } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { arch } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { StopMode } from "../../../engine/model/plan.ts";
import { testedProgram } from "../../../files/tested-program.fixture.ts";
import type { LiveNode } from "../../host.ts";
import type { NodeProgram, ProcessEnd } from "../../host-processes.ts";
import { localPaths } from "../machine/paths.ts";
import { testDirectory } from "../testing/test-directory.fixture.ts";
import { eventually, labOf, operation, type TestLocalHost, testLocalHost } from "../testing/test-local-host.fixture.ts";
import { kernelFeatureScript, missingKernelFeatures } from "./kernel-features.ts";

/** A node with a kernel of its own, on an emulated processor: booted once for all tests of this file, and a second time by the test of its disk. */
const at = "/own";
const hang = 120_000;

const yaml = (links = '["k1:eth0", "h1:eth0"]', motd = "one", more = "") => `
name: own
nodes:
  k1:
    template: linux
    kernel: own
    memory: 160
    ${more}
    env: {PLACE: 'a "b"'}
    files: {/etc/motd: {text: ${motd}, mode: "0640"}}
    attributes: {forwarding: true}
    startup-config: |
      sleep 0.3
      echo booted >> /root/boots
      ip addr add 10.0.0.1/24 dev eth0
    exec: ["ip link add red type vrf table 10"]
  h1:
    template: linux
    exec: ["ip addr add 10.0.0.2/24 dev eth0"]
links: [${links}]
`;

let local: TestLocalHost;
/** Links to the images of set-up, so that the snapshots are those of this file. */
let ownImages: string;
/** The boot_id of the first start. */
let firstBoot: string;

/** Returns the pids of the QEMU processes below this process. */
function emulatorsBelow(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
  return children.flatMap((child) => (readFileSync(`/proc/${child}/comm`, "utf8").startsWith("qemu") ? [child] : emulatorsBelow(child)));
}

/** Returns the letter of a process's state, as in its stat. */
function stateOf(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2)[0] ?? "";
}

describe.skipIf(arch() !== "x64")("a node with a kernel of its own", () => {
  beforeAll(async () => {
    const { images } = localPaths(process.env, process.getuid!());
    ownImages = await testDirectory("own-kernel-images");
    for (const name of await readdir(images))
      if (!name.includes("snapshot-")) await symlink(join(await realpath(images), name), join(ownImages, name));
    local = await testLocalHost({ images: ownImages, stopGrace: { graceful: hang, machine: hang } });
    await local.deploy(at, labOf(yaml()));
    await ready();
  }, hang);
  afterAll(async () => {
    await local[Symbol.asyncDispose]();
    await rm(ownImages, { recursive: true });
  }, hang);

  const live = async (): Promise<LiveNode> => (await local.session.status(at)).nodes.find(({ name }) => name === "k1")!;
  const ready = () => eventually("k1 is ready", hang, live, (node) => node.ready === true);
  const commandLine = async () => {
    const [emulator = 0] = emulatorsBelow((await local.sandbox(at)).pid);
    return readFileSync(`/proc/${emulator}/cmdline`, "utf8");
  };
  const isEmulated = async () => (await commandLine()).includes("\0tcg");
  const said = async (...argv: readonly string[]) => (await local.exec(at, "k1", ...argv)).stdout.trim();
  const carrier = () => said("cat", "/sys/class/net/eth0/carrier");

  async function power(step: { readonly do: "start" } | { readonly do: "stop"; readonly mode: StopMode }) {
    const one = operation({ ...step, node: "k1" }, 0);
    await local.session.apply(at, [{ ...one, key: "k1" }], { ids: local.ids(at), step: () => undefined });
  }

  async function run(program: NodeProgram, input?: string, act?: (seen: string, end: () => void) => void) {
    const process = await local.session.processes!.start(at, (await live()).id, program, AbortSignal.timeout(hang));
    const texts = { stdout: "", stderr: "" };
    if (input !== undefined) {
      void process.write(Buffer.from(input));
      process.endInput();
    }
    let end: ProcessEnd | undefined;
    for await (const item of process.output) {
      if (item.stream === "end") end = item;
      else {
        texts[item.stream] += item.data.toString();
        // A message of the shell on standard error must not send a second signal.
        if (item.stream === "stdout") act?.(texts.stdout, () => process.signal(15));
        if (program.terminal !== undefined && texts.stdout.includes("24 80")) process.resize({ columns: 132, rows: 50 });
      }
    }
    return { ...texts, ...end };
  }

  test("has booted with its settings when it is ready", async () => {
    expect(await said("uname", "-r")).toMatch(/-cloud-amd64$/);
    expect(await said("hostname")).toBe("k1");
    expect(await said("sh", "-c", "cat /root/boots /etc/motd; stat -c %a /etc/motd; echo $PLACE; cat /proc/sys/net/ipv4/ip_forward")).toBe(
      'booted\none640\na "b"\n1',
    );
    expect(await said("ip", "-br", "link", "show", "type", "vrf")).toMatch(/^red /);
    expect(await said("sh", "-c", "ls /sys/class/net")).toBe("eth0\nlo\nred");
  });

  test("starts from a snapshot without hardware virtualisation, with the time of the machine", async () => {
    if (!(await isEmulated())) return;
    expect(await commandLine()).toContain("-incoming");
    const drift = Number(await said("date", "+%s")) - Date.now() / 1000;
    expect(Math.abs(drift)).toBeLessThan(60);
    firstBoot = await said("cat", "/proc/sys/kernel/random/boot_id");
  });

  test("has interfaces with a speed, which LACP needs, and no bond of its own", async () => {
    expect(await said("sh", "-c", "cd /sys/class/net/eth0; cat speed duplex")).toBe("10000\nfull");
    const commands = "ip link add bond0 type bond mode 802.3ad && cat /proc/net/bonding/bond0 && ip link del bond0";
    expect(await said("sh", "-c", commands)).toContain("IEEE 802.3ad");
  });

  test("is connected by its links, also to an interface that it gets while it runs", async () => {
    expect((await local.exec(at, "h1", "ping", "-c", "1", "-W", "20", "10.0.0.1")).code).toBe(0);
    const link = (await local.session.observe(at))!.links[0]!.id;
    await local.session.setLinkSuspend(at, link, { a: true });
    await eventually("the carrier is lost", hang, carrier, (text) => text === "0");
    await local.session.setLinkSuspend(at, link, { a: false });
    await eventually("the carrier is back", hang, carrier, (text) => text === "1");
    const mac = await said("cat", "/sys/class/net/eth0/address");
    expect(mac).toMatch(/^02:/);
    const { plan } = await local.deploy(at, labOf(yaml('["k1:eth0", "h1:eth0"], ["k1:eth3", "h1:eth1"]', "two")));
    expect(plan.actions.map(({ disruption }) => disruption)).not.toContain("restart");
    await eventually(
      "eth3 has its carrier",
      hang,
      () => said("sh", "-c", "cat /sys/class/net/eth3/carrier; true"),
      (text) => text === "1",
    );
    expect(await said("cat", "/etc/motd")).toBe("two");
    await local.deploy(at, labOf(yaml('["k1:eth0", "h1:eth0"]', "two")));
    expect(await carrier()).toBe("1");
  });

  test("runs programs with their streams, signals and terminals", async () => {
    expect(await run({ argv: ["sh", "-c", "cat; echo no >&2; pwd; echo $X; exit 7"], cwd: "/var", env: { X: "y z" } }, "in")).toMatchObject(
      {
        stdout: "in/var\ny z\n",
        stderr: "no\n",
        exitCode: 7,
      },
    );
    const large = "0123456789abcdef".repeat(65_536);
    expect((await run({ argv: ["cat"] }, large)).stdout).toBe(large);
    expect(
      await run({ argv: ["sh", "-c", "trap 'echo term; exit 3' TERM; echo go; while :; do sleep 0.1; done"] }, undefined, (seen, end) => {
        if (seen === "go\n") end();
      }),
    ).toMatchObject({ stdout: "go\nterm\n", exitCode: 3 });
    expect(await run({ argv: ["sh", "-c", "kill -KILL $$"] })).toMatchObject({ signal: 9 });
    expect(await run({ argv: ["no-such-program"] })).toMatchObject({ exitCode: 127 });
    const window = ["sh", "-c", "stty size; until stty size | grep '50 132'; do sleep 0.1; done"];
    expect((await run({ argv: window, terminal: { columns: 80, rows: 24 } })).stdout).toMatch(/24 80[\s\S]*50 132/);
  });

  test("ends a program that takes too long, with all that it started", async () => {
    const ended = await run({ argv: ["sh", "-c", "sleep 4321 & (setsid sleep 4321 &); wait"], timeoutMs: 500 });
    expect(ended).toMatchObject({ signal: 9, reason: "timeout" });
    await eventually(
      "nothing of it runs",
      hang,
      () => said("sh", "-c", "pgrep -f 'sleep [4]321' | wc -l"),
      (text) => text === "0",
    );
  });

  test("has addresses in an inspection, and its port is reached from the machine", async () => {
    const addresses = async () => (await local.session.addresses!(at)).get(String(local.ids(at).nodes["k1"]))?.get("eth0");
    expect(await addresses()).toContain("10.0.0.1/24");
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, "close");
    await said("sh", "-c", "socat TCP-LISTEN:8080,fork,reuseaddr PIPE > /dev/null 2>&1 &");
    await local.deploy(at, labOf(yaml('["k1:eth0", "h1:eth0"]', "two", `ports: ["${port}:8080"]`)));
    const answer = async () => {
      const socket = connect({ host: "127.0.0.1", port, allowHalfOpen: true });
      socket.end("hello");
      return text(socket);
    };
    await eventually("the program listens", hang, answer, (got) => got === "hello");
    await local.deploy(at, labOf(yaml('["k1:eth0", "h1:eth0"]', "two")));
  });

  test(
    "reports an emulator that does not answer to who runs a program, and cuts no running program",
    async () => {
      const [emulator, ...others] = emulatorsBelow((await local.sandbox(at)).pid);
      if (emulator === undefined || others.length > 0) throw new Error("the lab does not have one emulator");
      const long = run({ argv: ["sh", "-c", "echo go; sleep 1; echo end"] }, undefined, (seen) => {
        if (seen === "go\n") process.kill(emulator, "SIGSTOP");
      });
      try {
        await eventually(
          "the emulator is stopped",
          hang,
          async () => stateOf(emulator),
          (state) => state === "T",
        );
        expect(await run({ argv: ["true"] })).toMatchObject({
          exitCode: 126,
          stderr: "labwright: the node's own kernel does not answer: wait until it does, or restart the node\n",
        });
      } finally {
        process.kill(emulator, "SIGCONT");
      }
      expect(await long).toMatchObject({ stdout: "go\nend\n", exitCode: 0 });
    },
    hang,
  );

  test.skipIf(process.getuid!() !== 0)(
    "has an address in the management network, which it gets, changes and loses while it runs",
    async () => {
      const links = '["k1:eth0", "h1:eth0"]';
      const address = async () => (/inet ([0-9.]+)/.exec(await said("sh", "-c", "ip -4 addr show dev mgmt0 2>&1; true")) ?? [])[1];
      await local.deploy(at, labOf(yaml(links, "two").replace("nodes:", "management: {ipv6-subnet: auto}\nnodes:")));
      const got = await eventually("k1 has an address", hang, address, (text) => text !== undefined);
      expect(got).toMatch(/^198\.(18|19)\./);
      expect((await local.session.addresses!(at)).get(String(local.ids(at).nodes["k1"]))?.get("mgmt0")).toEqual([
        expect.stringContaining(`${got}/`),
        expect.stringMatching(/^fd/),
      ]);
      await said("sh", "-c", "socat TCP-LISTEN:8081,fork,reuseaddr PIPE > /dev/null 2>&1 &");
      const answer = async (host: string) => {
        const socket = connect({ host, port: 8081, allowHalfOpen: true });
        socket.on("error", () => socket.destroy());
        socket.end("hello");
        return text(socket).catch(() => "");
      };
      const reached = (host: string) =>
        eventually(
          `the machine reaches ${host}`,
          hang,
          () => answer(host),
          (got) => got === "hello",
        );
      await reached(got!);
      await eventually(
        "k1 finds h1 by name",
        hang,
        () => said("cat", "/etc/hosts"),
        (text) => /^198\.1[89]\.\S+ h1\.own h1$/m.test(text),
      );
      expect(await said("ip", "-6", "addr", "show", "dev", "mgmt0", "scope", "global")).toMatch(/inet6 fd/);
      const other = got!.replace(/\d+$/, "77");
      await local.deploy(
        at,
        labOf(
          yaml(links, "two", `mgmt-ipv4: ${other}`).replace("nodes:", `management: {ipv4-subnet: ${got!.replace(/\d+$/, "0/24")}}\nnodes:`),
        ),
      );
      await eventually("k1 has the declared address", hang, address, (text) => text === other);
      await reached(other);
      await local.deploy(at, labOf(yaml(links, "two")));
      await eventually(
        "mgmt0 is gone",
        hang,
        () => said("sh", "-c", "test -e /sys/class/net/mgmt0; echo $?"),
        (text) => text === "1",
      );
    },
  );

  test(
    "a router of which a daemon ends is not ready, although the machine does not see its daemons",
    async () => {
      const path = "/router";
      const config = "interface eth0\n ip address 10.1.0.1/24\n ip ospf passive\nrouter ospf\n network 10.1.0.0/24 area 0\n";
      const node = { template: "frr", kernel: "own", "startup-config": config };
      await local.deploy(
        path,
        labOf(JSON.stringify({ name: "router", nodes: { k1: node, h1: { template: "linux" } }, links: [["k1:eth0", "h1:eth0"]] })),
      );
      const router = async () => (await local.session.status(path)).nodes.find(({ name }) => name === "k1")!;
      await eventually("the router is ready", hang, router, ({ ready: is }) => is === true);
      await local.exec(path, "k1", "sh", "-c", "kill -9 $(cat /run/frr/ospfd.pid)");
      await eventually("its daemon is missed", hang, router, ({ ready: is }) => is === false);
      expect((await router()).not_ready).toBe("ospfd does not answer: run frr-start ospfd in the node");
      await local.exec(path, "k1", "frr-start", "ospfd");
      await eventually("the router is ready again", hang, router, ({ ready: is }) => is === true);
    },
    2 * hang,
  );

  test("has every feature that labwright doctor looks for", async () => {
    expect(await said("sh", "-c", kernelFeatureScript)).toBe("");
    const report = JSON.parse(
      execFileSync(process.execPath, [testedProgram("hosts/local/own-kernel/doctor"), "--format", "json"], { encoding: "utf8" }),
    );
    const missing = (report.features as { name: string; available: boolean }[])
      .filter(({ available }) => !available)
      .map(({ name }) => name);
    expect(missing).toEqual(await missingKernelFeatures());
    expect(report).toMatchObject({ own_kernel: true, kvm: expect.any(Boolean) });
  });

  test(
    "keeps its files when it is stopped and started",
    async () => {
      await power({ do: "stop", mode: 0 });
      await power({ do: "start" });
      await ready();
      expect(await said("cat", "/root/boots")).toBe("booted\nbooted");
      if (!(await isEmulated())) return;
      expect(await commandLine()).toContain("-incoming");
      expect(await said("cat", "/proc/sys/kernel/random/boot_id"), "random numbers of its own").not.toBe(firstBoot);
    },
    hang,
  );

  test(
    "is connected again when it is started at once after its virtual machine ended, and boots if its snapshot is damaged",
    async () => {
      const emulated = await isEmulated();
      const snapshots = (await readdir(ownImages)).filter((name) => name.startsWith("snapshot-"));
      expect(snapshots.length > 0).toBe(emulated);
      for (const name of snapshots) await truncate(join(ownImages, name, "rootfs/snapshot/state"), 5_000);
      await said("sh", "-c", "sync; echo b > /proc/sysrq-trigger");
      await eventually("it has ended", hang, live, ({ status }) => status !== "running");
      await power({ do: "start" });
      await ready();
      await eventually("eth0 has its carrier", hang, carrier, (text) => text === "1");
      expect(await said("cat", "/root/boots")).toBe("booted\nbooted\nbooted");
      expect(await commandLine()).not.toContain("-incoming");
    },
    hang,
  );
});
