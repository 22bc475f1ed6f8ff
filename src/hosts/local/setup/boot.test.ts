import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { LabNode } from "../../../intent/lab/lab.ts";
import { findImages, type LocalImage } from "../images/images.ts";
import { idRange } from "../machine/idmap.ts";
import { localPaths } from "../machine/paths.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { createSandbox } from "../sandbox/sandbox-client.ts";
import { builtinTemplates, loadTemplates } from "../templates/reading/templates.ts";
import { bootEnv, bootFiles, type LocalTemplate, nodeImage } from "../templates/template.ts";
import { testDirectory } from "../testing/test-directory.fixture.ts";

/** Tests the images and boot scripts in a real sandbox. Needs the images and programs of set-up. */

const root = process.getuid?.() === 0;
const paths = localPaths(process.env, root ? 0 : (process.getuid?.() ?? 0));
let scratch: string;
let templates: readonly LocalTemplate[];
let images: readonly LocalImage[];

beforeAll(async () => {
  scratch = await testDirectory("boot");
  templates = (await loadTemplates([builtinTemplates])).templates;
  images = await findImages(paths.images);
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

let count = 0;

/** A sandbox that ends with the test. */
async function sandboxed(): Promise<{ readonly box: Lab } & AsyncDisposable> {
  const lab = `boot-test-${++count}`;
  const dir = join(scratch, lab);
  await mkdir(dir);
  const sandbox = await createSandbox({ holder: paths.holder, dir, lab, ...(root ? { idMap: idRange } : {}) });
  return { box: new Lab(sandbox, join(scratch, `${lab}-disks`)), [Symbol.asyncDispose]: () => sandbox.destroy() };
}

class Lab {
  readonly sandbox: Sandbox;
  readonly disks: string;
  readonly pids = new Map<number, number>();

  constructor(sandbox: Sandbox, disks: string) {
    this.sandbox = sandbox;
    this.disks = disks;
  }

  /** Spawns the nodes (ids from 1), makes the links [id, interface, id, interface], and waits until all have booted. */
  async boot(nodes: readonly LabNode[], links: readonly (readonly [number, string, number, string])[] = []): Promise<void> {
    // If ids are mapped, the sandbox makes the disks for the lab's root. Otherwise they belong to this process's user.
    if (!root) for (const { key } of nodes) await mkdir(join(this.disks, key), { recursive: true });
    const spawned = await this.sandbox.spawn(
      nodes.map((node, index) => {
        const template = templates.find((candidate) => candidate.id === node.template);
        if (template === undefined) throw new Error(`no template ${node.template}`);
        const image = nodeImage(template, images, node.image);
        if (image === undefined) throw new Error(`no image for ${node.template} in ${paths.images}: run set-up first`);
        return {
          id: index + 1,
          hostname: node.key,
          lower: image.layers,
          disk: join(this.disks, node.key),
          files: bootFiles(node),
          env: bootEnv(template, node),
          boot: template.boot,
          console: template.console.argv,
        };
      }),
    );
    for (const { id, pid } of spawned) this.pids.set(id, pid);
    const batch = links.flatMap(
      ([a, x, b, y]) => `link add ${x} netns ${this.pids.get(a)} type veth peer name ${y} netns ${this.pids.get(b)}`,
    );
    const { code, stderr } = await this.sandbox.run(["ip", "-batch", "-"], `${batch.join("\n")}\n`);
    expect(stderr, "ip").toBe("");
    expect(code).toBe(0);
    const ids = nodes.map((_, index) => index + 1);
    for (const [a, x, b, y] of links)
      for (const [id, name] of [
        [a, x],
        [b, y],
      ] as const)
        await this.must(id, "ip", "link", "set", name, "up");
    await this.sandbox.release(ids);
    await until("all nodes have booted", async () => (await this.states()).every((state) => state !== "booting" && state !== "waiting"));
  }

  async states(): Promise<readonly string[]> {
    return (await this.sandbox.info()).nodes.map((node) => node.state);
  }

  async must(id: number, ...argv: readonly string[]): Promise<string> {
    const result = await this.sandbox.exec(id, argv, { timeoutMs: 30_000 });
    if (result.code !== 0) throw new Error(`${argv.join(" ")}: code ${result.code}\n${result.stdout}${result.stderr}`);
    return result.stdout;
  }

  async stop(): Promise<void> {
    const { nodes } = await this.sandbox.info();
    await this.sandbox.stop(
      nodes.map((node) => node.id),
      "graceful",
      2_000,
    );
  }

  async ready(id: number): Promise<boolean> {
    return (await this.readyCheck(id)).code === 0;
  }

  readyCheck(id: number) {
    return this.sandbox.exec(id, ["/usr/lib/labwright/ready-frr"], { timeoutMs: 30_000 });
  }

  /** Sends lines to a console, each after the prompt of the previous line. Returns the whole output. */
  async dialogue(id: number, prompt: string, lines: readonly string[]): Promise<string> {
    await using console = await this.sandbox.console(id);
    let shown = "";
    console.on("data", (bytes: Buffer) => {
      // busybox queries the position of the cursor after every prompt.
      shown = (shown + bytes.toString()).replaceAll("\x1b[6n", "");
    });
    console.resume();
    await until(
      `the prompt "${prompt}"`,
      async () => shown.endsWith(prompt),
      () => shown,
    );
    for (const line of lines) {
      const from = shown.length;
      console.write(`${line}\n`);
      await until(
        `the prompt after "${line}"`,
        async () => shown.length > from + line.length && shown.endsWith(prompt),
        () => shown,
      );
    }
    return shown;
  }
}

async function until(what: string, holds: () => Promise<boolean>, seen: () => string = () => ""): Promise<void> {
  const deadline = Date.now() + 40_000;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`waited 40 s in vain for ${what} ${seen()}`);
    await delay(20);
  }
}

function node(key: string, template: string, more: Partial<LabNode> = {}): LabNode {
  return { key, name: key, template, exec: [], env: {}, attributes: {}, labels: {}, ...more };
}

describe("a linux node", () => {
  test("runs its startup-config, then its commands in order, with its environment", async () => {
    await using lab = await sandboxed();
    const h1 = node("h1", "linux", {
      startupConfig: 'echo "config $COLOUR" > /root/log\n',
      exec: ["echo 'one \\n two' >> /root/log", 'for n in 1 2; do\n  echo "loop $n" >> /root/log\ndone', "hostname >> /root/log"],
      env: { COLOUR: "blue" },
    });
    await lab.box.boot([h1]);
    expect(await lab.box.states()).toEqual(["running"]);
    expect(await lab.box.must(1, "cat", "/root/log")).toBe("config blue\none \\n two\nloop 1\nloop 2\nh1\n");
  });

  test("neighbouring ip commands run in order; a failed command is reported with its own exit code, and none after it runs", async () => {
    await using lab = await sandboxed();
    const add = (last: number) => `ip addr add 10.0.0.${last}/24 dev lo`;
    await lab.box.boot([
      node("whole", "linux", {
        exec: [add(1), "ip link set lo mtu 1400", "ip route add 10.1.0.0/16 via 10.0.0.1", "echo done > /root/done"],
      }),
      node("twice", "linux", { exec: [add(1), add(2), add(1), add(3)] }),
      node("mixed", "linux", {
        exec: [add(1), "ip link set lo down && ip link set lo up", "ip link set nothing up", "echo > /root/later"],
      }),
    ]);
    const [whole, twice, mixed] = (await lab.box.sandbox.info()).nodes;
    expect(whole).toMatchObject({ state: "running" });
    expect(await lab.box.must(1, "ip", "route")).toContain("10.1.0.0/16 via 10.0.0.1 dev lo");
    expect(await lab.box.must(1, "cat", "/root/done", "/sys/class/net/lo/mtu")).toBe("done\n1400\n");
    expect(twice).toMatchObject({ state: "failed", exitCode: 2 });
    expect(await lab.box.sandbox.tail(2)).toContain(`exec: "${add(1)}" failed with exit code 2`);
    expect(mixed).toMatchObject({ state: "failed", exitCode: 1 });
    expect(await lab.box.sandbox.tail(3)).toContain('Cannot find device "nothing"\r\nlabwright: exec: "ip link set nothing up" failed');
  });

  test("plain commands are done without a shell and mean what ip means by them; from the first other one on all are the shell's, each once", async () => {
    await using lab = await sandboxed();
    const plain = [
      "ip link set dev lo up",
      "ip addr add 10.0.0.1/24 dev lo",
      "",
      "ip address add 10.9.9.9 dev lo",
      "ip addr add fd00:1::1/64 dev eth0",
      "ip link set lo mtu 1400",
      "ip route add default via 10.0.0.2",
      "ip route add 10.1.0.0/16 via 10.0.0.2 dev lo",
      "ip route add fd00:2::/48 via fd00:1::2",
      "ip route add default via fd00:1::2 dev eth0",
    ];
    const asked = ["ip -4 -br addr", "ip link show lo", "ip -6 -br addr show scope global", "ip route", "ip -6 route show proto boot"].join(
      "; ",
    );
    const nodes = [
      node("plain", "linux", { exec: plain }),
      // A line with a quote is not plain: a shell runs the whole file.
      node("shell", "linux", { exec: ['echo "one" >> /root/log', ...plain] }),
      node("both", "linux", {
        exec: ["ip addr add 10.0.0.1/24 dev lo", "ip addr show dev lo > /root/first", "ip addr add 10.0.0.2/24 dev lo"],
      }),
      node("wrong", "linux", { exec: ["ip addr add 10.0.0.1/33 dev lo", "echo > /root/later"] }),
      node("nobody", "linux", { exec: ["ip addr add 10.0.0.1/24 dev lo", "ip route add 10.1.0.0/16 via 192.0.2.1"] }),
      node("peer", "linux"),
    ];
    await lab.box.boot(nodes, [
      [1, "eth0", 3, "eth0"],
      [2, "eth0", 6, "eth0"],
    ]);
    expect(await lab.box.states()).toEqual(["running", "running", "running", "failed", "failed", "running"]);
    // The kernel needs a moment to set a carrier.
    for (const id of [1, 2])
      await until("eth0 is up", async () => (await lab.box.must(id, "cat", "/sys/class/net/eth0/operstate")) === "up\n");
    const shown = await lab.box.must(1, "sh", "-c", asked);
    expect(shown).toContain("10.0.0.1/24 10.9.9.9/32");
    expect(shown).toContain("mtu 1400");
    expect(shown).toContain("default via 10.0.0.2 dev lo");
    for (const text of ["fd00:1::1/64", "fd00:2::/48 via fd00:1::2", "default via fd00:1::2 dev eth0"]) expect(shown).toContain(text);
    expect(await lab.box.must(2, "sh", "-c", asked)).toBe(shown);
    expect(await lab.box.must(2, "cat", "/root/log")).toBe("one\n");
    expect(await lab.box.must(3, "cat", "/root/first")).not.toContain("10.0.0.2");
    expect(await lab.box.must(3, "ip", "-br", "addr")).toContain("10.0.0.1/24 10.0.0.2/24");
    expect(await lab.box.sandbox.tail(4)).toContain('exec: "ip addr add 10.0.0.1/33 dev lo" failed with exit code 1');
    expect(await lab.box.sandbox.tail(5)).toContain('exec: "ip route add 10.1.0.0/16 via 192.0.2.1" failed with exit code 2');
  });

  test("fails with the code of the first command that fails, names it, and runs none after it", async () => {
    await using lab = await sandboxed();
    await lab.box.boot([node("h1", "linux", { exec: ["true", "exit 7", "echo later > /root/later"] })]);
    const [state] = (await lab.box.sandbox.info()).nodes;
    expect(state).toMatchObject({ state: "failed", exitCode: 7 });
    expect(await lab.box.sandbox.tail(1)).toContain('exec: "exit 7" failed with exit code 7');
  });

  test("fails when its startup-config fails", async () => {
    await using lab = await sandboxed();
    await lab.box.boot([node("h1", "linux", { startupConfig: "exit 3\n" })]);
    expect((await lab.box.sandbox.info()).nodes[0]).toMatchObject({ state: "failed", exitCode: 3 });
  });

  test("forwards between its interfaces only when asked to, and has the tools of its description", async () => {
    await using lab = await sandboxed();
    await lab.box.boot([node("h1", "linux"), node("gw", "linux", { attributes: { forwarding: true } })]);
    expect(await lab.box.must(1, "cat", "/proc/sys/net/ipv4/ip_forward")).toBe("0\n");
    expect(await lab.box.must(2, "cat", "/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv6/conf/all/forwarding")).toBe("1\n1\n");
    const shell = [
      "sh",
      "-lc",
      "ip -V; ping -V; tc -V; curl --version; iperf3 --version; tcpdump --version 2>&1; nft --version; traceroute --version 2>&1",
    ];
    const versions = await lab.box.must(1, ...shell);
    for (const tool of ["iproute2", "iputils", "curl 7", "iperf 3", "libpcap", "nftables", "traceroute for Linux"])
      expect(versions).toContain(tool);
    expect(await lab.box.dialogue(1, "h1:~# ", ["echo a$((1+1))b"])).toContain("a2b");
  });
});

describe("a pc", () => {
  const pair = [[1, "eth0", 2, "eth0"]] as const;

  test("takes its startup-config over, pings, and keeps what was saved over stop and start", async () => {
    await using lab = await sandboxed();
    const pcs = [
      node("pc1", "pc", { startupConfig: "ip 10.0.0.1/24 10.0.0.254\n" }),
      node("pc2", "pc", { startupConfig: "ip 10.0.0.2/24\nip fd00::2/64\n" }),
    ];
    await lab.box.boot(pcs, pair);
    expect(await lab.box.states()).toEqual(["running", "running"]);
    const shown = await lab.box.dialogue(1, "pc1> ", ["ping 10.0.0.2 -c 2", "show ip", "nonsense", "ip 10.0.0.7/24", "save", "show"]);
    expect(shown).toContain("2 packets transmitted, 2 received");
    expect(shown).toContain("IP/MASK : 10.0.0.1/24");
    expect(shown).toContain("GATEWAY : 10.0.0.254");
    expect(shown).toContain('unknown command "nonsense"');
    expect(shown).toContain("Saved");
    expect(await lab.box.dialogue(2, "pc2> ", ["show"])).toContain("fd00::2/64");
    await lab.box.stop();
    await lab.box.boot(pcs, pair);
    expect(await lab.box.dialogue(1, "pc1> ", ["show ip"])).toContain("IP/MASK : 10.0.0.7/24");
    await lab.box.stop();
    await lab.box.boot([node("pc1", "pc", { startupConfig: "set pcname desk\nip 10.0.0.9/24\n" }), pcs[1]!], pair);
    expect(await lab.box.dialogue(1, "desk> ", ["show"])).toContain("IP/MASK : 10.0.0.9/24");
  });

  test("fails when a line of its startup-config fails", async () => {
    await using lab = await sandboxed();
    await lab.box.boot([node("pc1", "pc", { startupConfig: "ip 10.0.0.1\n" })]);
    expect(await lab.box.states()).toEqual(["failed"]);
    expect(await lab.box.sandbox.tail(1)).toContain('"ip 10.0.0.1" failed');
  });
});

describe("an frr node", () => {
  let triangle: readonly LabNode[];
  beforeEach(async () => {
    const file = (name: string) => readFile(fileURLToPath(new URL(`../../../../labs/ospf-triangle/${name}.conf`, import.meta.url)), "utf8");
    triangle = await Promise.all(["r1", "r2", "r3"].map(async (key) => node(key, "frr", { startupConfig: await file(key) })));
  });

  test("is ready when OSPF is fully adjacent on every link, and forwards then", async () => {
    await using lab = await sandboxed();
    const links = [
      [1, "eth1", 2, "eth1"],
      [1, "eth2", 3, "eth1"],
      [2, "eth2", 3, "eth2"],
    ] as const;
    await lab.box.boot(triangle, links);
    expect(await lab.box.states()).toEqual(["running", "running", "running"]);
    await until("all routers to be ready", async () => (await Promise.all([1, 2, 3].map((id) => lab.box.ready(id)))).every(Boolean));
    const neighbours = await lab.box.must(2, "vtysh", "-c", "show ip ospf neighbor");
    expect(neighbours.match(/ Full\//g)).toHaveLength(2);
    // Immediately: a router that is ready has its routes.
    expect(await lab.box.must(1, "ping", "-c", "1", "-W", "20", "10.255.0.3")).toContain("1 received");
    // r1 receives no updates of link states (type 4 of the OSPF header) while r2 has a new one.
    await lab.box.must(
      1,
      "nft",
      "add table inet t; add chain inet t in { type filter hook input priority 0; }; add rule inet t in ip protocol 89 @th,8,8 4 drop",
    );
    await lab.box.must(2, "vtysh", "-c", "configure terminal", "-c", "interface eth1", "-c", "ip ospf cost 78");
    await until("r2 to wait for an acknowledgement", async () => (await lab.box.readyCheck(2)).stdout.includes("has not acknowledged"));
    await lab.box.must(1, "nft", "delete", "table", "inet", "t");
    await until("r2 to be ready again", () => lab.box.ready(2));
    const late = ["router ospf", "timers throttle spf 600000 600000 600000", "interface eth1", "ip ospf cost 77"];
    await lab.box.must(2, "vtysh", ...["configure terminal", ...late].flatMap((line) => ["-c", line]));
    await until("r2 to have routes to calculate", async () => !(await lab.box.ready(2)));
    await lab.box.must(3, "vtysh", "-c", "configure terminal", "-c", "interface eth1", "-c", "no ip ospf area 0");
    await until("r1 to miss its neighbour", async () => !(await lab.box.ready(1)));
  });

  test("runs the daemons its configuration needs, with every part of it taken, as the user frr", async () => {
    await using lab = await sandboxed();
    const config = [
      "hostname edge",
      ...["router bgp 65001", " bgp router-id 1.1.1.1", " neighbor 10.0.0.2 remote-as 65002", "exit"],
      ...["router isis core", " net 49.0001.0000.0000.0001.00", "exit"],
      ...["interface eth0", " ip address 10.0.0.1/24", " ip router isis core", "exit"],
      "ip route 192.0.2.0/24 blackhole",
    ];
    await lab.box.boot([node("r1", "frr", { startupConfig: `${config.join("\n")}\n` }), node("h1", "linux")], [[1, "eth0", 2, "eth0"]]);
    expect(await lab.box.states()).toEqual(["running", "running"]);
    const running = await lab.box.must(1, "vtysh", "-c", "show running-config");
    for (const line of config.filter((text) => text !== "exit")) expect(running).toContain(line);
    const processes = await lab.box.must(1, "ps", "-o", "user,args");
    for (const daemon of ["bgpd", "isisd", "staticd", "zebra"])
      expect(processes).toMatch(new RegExp(`^${root ? "frr" : "root"} .*/${daemon} `, "m"));
    expect(processes).not.toContain("ospfd");
    await until("the route in the kernel", async () => (await lab.box.must(1, "ip", "route")).includes("blackhole 192.0.2.0/24"));
  });

  test("has the settings of OSPFv3 at an interface that comes after its section", async () => {
    await using lab = await sandboxed();
    const config = "router ospf6\n ospf6 router-id 1.1.1.1\nexit\n!\ninterface eth0\n ipv6 ospf6 area 0\n ipv6 ospf6 cost 77\nexit\n";
    await lab.box.boot([node("r1", "frr", { startupConfig: config }), node("h1", "linux")], [[1, "eth0", 2, "eth0"]]);
    expect(await lab.box.must(1, "vtysh", "-c", "show running-config")).toContain(" ipv6 ospf6 area 0\n ipv6 ospf6 cost 77\n");
  });

  test("keeps its own `write memory` over stop and start, until the intended configuration changes", async () => {
    await using lab = await sandboxed();
    const router = node("r1", "frr", { startupConfig: "hostname r1\nip route 192.0.2.0/24 blackhole\n" });
    await lab.box.boot([router]);
    await lab.box.dialogue(1, "# ", ["configure terminal", "ip route 198.51.100.0/24 blackhole", "end", "write memory"]);
    await lab.box.stop();
    await lab.box.boot([router]);
    expect(await lab.box.must(1, "vtysh", "-c", "show running-config")).toContain("198.51.100.0/24");
    await lab.box.stop();
    await lab.box.boot([{ ...router, startupConfig: "hostname r1\nip route 203.0.113.0/24 blackhole\n" }]);
    const running = await lab.box.must(1, "vtysh", "-c", "show running-config");
    expect(running).toContain("203.0.113.0/24");
    expect(running).not.toContain("198.51.100.0/24");
  });

  test("a save without space on the disk fails and keeps what was saved before, and so does a boot after a `write memory` without space", async () => {
    await using lab = await sandboxed();
    const router = node("r1", "frr", { startupConfig: "hostname r1\nip route 192.0.2.0/24 blackhole\n" });
    await lab.box.boot([router]);
    const run = (...argv: readonly string[]) => lab.box.sandbox.exec(1, argv, { timeoutMs: 20_000, maxOutputBytes: 65_536 });
    await until("r1 to be ready", () => lab.box.ready(1));
    expect((await run("/usr/lib/labwright/save-frr")).code).toBe(0);
    const before = await lab.box.must(1, "cat", "/etc/frr/frr.conf");
    await lab.box.must(1, "vtysh", "-c", "configure terminal", "-c", "ip route 198.51.100.0/24 blackhole");
    // Writes fail as on a full disk, and nothing is killed.
    const full = (command: string) => run("sh", "-c", `trap '' XFSZ; ulimit -f 0; ${command}`);
    expect(await full("exec /usr/lib/labwright/save-frr")).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^no space is left on the disk/),
    });
    expect(await lab.box.must(1, "cat", "/etc/frr/frr.conf")).toBe(before);
    // The command that engineers type at the console.
    expect((await full("exec vtysh -c 'write memory'")).code).toBe(0);
    expect(await lab.box.must(1, "cat", "/etc/frr/frr.conf")).toBe("");
    await lab.box.stop();
    await lab.box.boot([router]);
    expect(await lab.box.must(1, "vtysh", "-c", "show running-config")).toContain("ip route 192.0.2.0/24 blackhole");
    await until("r1 to be ready again", () => lab.box.ready(1));
    await lab.box.must(1, "vtysh", "-c", "configure terminal", "-c", "ip route 203.0.113.0/24 blackhole");
    expect((await run("/usr/lib/labwright/save-frr")).code).toBe(0);
    expect(await lab.box.must(1, "cat", "/etc/frr/frr.conf")).toContain("203.0.113.0/24");
  });

  test("frr-start starts a daemon again that has ended, with its configuration, and finds one that a cut-off start has left", async () => {
    await using lab = await sandboxed();
    const config = "interface eth0\n ip address 10.0.0.1/24\n ip ospf area 0\n ip ospf cost 77\nrouter ospf\n ospf router-id 1.1.1.1\n";
    await lab.box.boot([node("r1", "frr", { startupConfig: config }), node("h1", "linux")], [[1, "eth0", 2, "eth0"]]);
    const shell = (command: string) => lab.box.must(1, "sh", "-c", command);
    // On a busy machine, a killed process runs on for a moment.
    await shell("kill -9 $(cat /run/frr/ospfd.pid)");
    await until(
      "ospfd to end",
      async () => (await shell("cat /proc/$(cat /run/frr/ospfd.pid)/stat 2> /dev/null || echo gone")) === "gone\n",
    );
    await shell("frr-start ospfd");
    await until("ospfd to answer", async () =>
      (await lab.box.must(1, "vtysh", "-c", "show running-config")).includes(" ip ospf area 0\n ip ospf cost 77\n"),
    );
    await shell("frr-start bgpd && sed -i 's/ bgpd//' /run/frr/daemons && frr-start bgpd && grep -c bgpd /run/frr/daemons");
    expect(await shell("pidof bgpd | wc -w")).toBe("1\n");
  });

  test("runs the given daemons, and fails for an unknown one", async () => {
    await using lab = await sandboxed();
    const routers = [node("r1", "frr", { attributes: { daemons: "ripd, bfdd" } }), node("r2", "frr", { attributes: { daemons: "ospf" } })];
    await lab.box.boot(routers);
    expect(await lab.box.states()).toEqual(["running", "failed"]);
    expect(await lab.box.must(1, "cat", "/run/frr/daemons")).toBe("zebra staticd ripd bfdd\n");
    expect(await lab.box.sandbox.tail(2)).toContain('unknown daemon "ospf"');
  });
});
