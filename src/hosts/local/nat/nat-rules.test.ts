import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runOnMachine, succeeded } from "../machine/machine.ts";
import { connectedNetworks, type NatPolicy, natRules } from "./nat-rules.ts";

const uplink = { network: 1, prefix: "100.64.7", device: "lw-test", table: "labwright_test_1" };
const resolver = "192.168.77.53";
const none: NatPolicy = { allow: [], deny: [] };

/** Uses three namespaces of its own: lab – machine – outside. The outside answers at addresses of all kinds. */
describe.skipIf(process.getuid?.() !== 0)("a nat network", () => {
  const id = randomBytes(3).toString("hex");
  const [lab, machine, outside] = ["lab", "machine", "outside"].map((name) => `lwtest-${id}-${name}`) as [string, string, string];
  const answering = [
    "169.254.169.254",
    "168.63.129.16",
    "10.9.9.9",
    "172.16.5.5",
    "192.168.1.1",
    "100.100.100.200",
    "198.51.100.7",
    resolver,
  ];
  const farAddress = "198.51.100.7";
  let server: ChildProcess;

  const inside = (space: string, ...argv: string[]) => runOnMachine(["ip", "netns", "exec", space, ...argv]);
  async function ip(space: string, lines: readonly string[]): Promise<void> {
    const argv = ["ip", "-n", space, "-batch", "-"];
    succeeded(argv, await runOnMachine(argv, lines.join("\n")));
  }

  beforeAll(async () => {
    for (const space of [lab, machine, outside]) succeeded(["ip", "netns", "add"], await runOnMachine(["ip", "netns", "add", space]));
    await ip(machine, [
      `link add name ${uplink.device} type veth peer name eth0 netns ${lab}`,
      `link add name up type veth peer name eth0 netns ${outside}`,
      `addr add ${uplink.prefix}.1/24 dev ${uplink.device}`,
      "addr add 203.0.113.1/24 dev up",
      ...["lo", uplink.device, "up"].map((device) => `link set dev ${device} up`),
      "route add default via 203.0.113.2",
    ]);
    succeeded(["sysctl"], await inside(machine, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"));
    await ip(outside, [
      ...answering.map((address) => `addr add ${address}/32 dev lo`),
      "addr add 203.0.113.2/24 dev eth0",
      "link set dev lo up",
      "link set dev eth0 up",
    ]);
    await ip(lab, [
      `addr add ${uplink.prefix}.100/24 dev eth0`,
      "addr add 198.18.0.9/32 dev lo",
      "link set dev lo up",
      "link set dev eth0 up",
      `route add default via ${uplink.prefix}.1`,
    ]);
    const program = `const net = require("node:net"); let ready = 0;
      for (const port of [53, 80]) net.createServer((one) => { one.on("error", () => {}); one.end("hello\\n"); }).listen(port, "0.0.0.0", () => ++ready === 2 && console.log("ready"));`;
    server = spawn("ip", ["netns", "exec", outside, process.execPath, "-e", program], { stdio: ["ignore", "pipe", "inherit"] });
    await once(server.stdout!, "data");
  });
  afterAll(async () => {
    if (server !== undefined) {
      const gone = once(server, "close");
      server.kill("SIGKILL");
      await gone;
    }
    for (const space of [lab, machine, outside]) await runOnMachine(["ip", "netns", "del", space]);
  });

  async function connected(): Promise<readonly string[]> {
    return connectedNetworks((await inside(machine, "ip", "-4", "route", "show", "table", "all", "scope", "link")).stdout);
  }

  async function setPolicy(policy: NatPolicy): Promise<void> {
    const rules = natRules(uplink, policy, { connected: await connected(), resolvers: [resolver] });
    const argv = ["ip", "netns", "exec", machine, "nft", "-f", "-"];
    succeeded(argv, await runOnMachine(argv, rules));
  }

  async function reaches(address: string, port = 80): Promise<boolean> {
    const { stdout } = await inside(lab, "timeout", "5", "busybox", "nc", "-w", "4", address, String(port));
    return stdout === "hello\n";
  }

  test("without rules, a nat network reaches every address of this test", async () => {
    await runOnMachine(
      ["ip", "netns", "exec", machine, "nft", "-f", "-"],
      natRules(uplink, { allow: ["0.0.0.0/0"], deny: [] }, { connected: [], resolvers: [] }),
    );
    for (const address of [...answering, "203.0.113.2"]) expect([address, await reaches(address)]).toEqual([address, true]);
  });

  test("a nat network reaches public addresses, but no metadata service, no private network and no neighbour of the machine", async () => {
    await setPolicy(none);
    expect(await connected()).toEqual(["203.0.113.0/24"]);
    for (const address of [...answering, "203.0.113.2"])
      expect([address, await reaches(address)]).toEqual([address, address === farAddress]);
  });

  test("a nat network reaches its resolver, but only for DNS", async () => {
    await setPolicy(none);
    expect([await reaches(resolver, 53), await reaches(resolver, 80), await reaches("192.168.1.1", 53)]).toEqual([true, false, false]);
  });

  test("the administrator's rule for the narrower network decides", async () => {
    await setPolicy({
      allow: ["10.0.0.0/8", "203.0.113.2/32", "172.16.5.5/32"],
      deny: ["10.9.0.0/16", "172.16.5.5/32", "198.51.100.0/24"],
    });
    const seen = await Promise.all(["10.9.9.9", "203.0.113.2", "172.16.5.5", farAddress, "169.254.169.254"].map((one) => reaches(one)));
    expect(seen).toEqual([false, true, false, false, false]);
    await setPolicy({ allow: ["10.9.9.9/32"], deny: ["0.0.0.0/0"] });
    expect([await reaches("10.9.9.9"), await reaches(farAddress), await reaches(resolver, 53)]).toEqual([true, false, false]);
  });

  test("no packet of a nat network looks like one of a tunnel of this machine", async () => {
    const open = { allow: ["0.0.0.0/0"], deny: [] };
    const rules = natRules(uplink, { ...open, tunnels: [{ remotes: [`${farAddress}/32`], port: 4789 }] }, { connected: [], resolvers: [] });
    const dropped = rules.indexOf(`udp dport 4789 ip daddr { ${farAddress}/32 } iifname "${uplink.device}" drop`);
    expect(dropped).toBeGreaterThan(0);
    expect(dropped).toBeLessThan(rules.indexOf("jump destinations"));
    await setPolicy({ ...open, tunnels: [{ remotes: [`${farAddress}/32`], port: 4789 }] });
    expect(await reaches(farAddress)).toBe(true);
  });

  test("a node that sends from the port of a service does not get the packets of its peer to that service", async () => {
    await setPolicy(none);
    const programs: ChildProcess[] = [];
    const run = (space: string, program: string) => {
      const argv = [
        "netns",
        "exec",
        space,
        process.execPath,
        "-e",
        `const socket = require("node:dgram").createSocket("udp4"); ${program}`,
      ];
      const child = spawn("ip", argv, { stdio: ["ignore", "pipe", "inherit"] });
      programs.push(child);
      return child.stdout!;
    };
    const line = async (out: NodeJS.ReadableStream) => String((await once(out, "data"))[0]).trim();
    try {
      await line(
        run(
          machine,
          'socket.on("message", (_, peer) => socket.send("service", peer.port, peer.address)).bind(5022, "0.0.0.0", () => console.log("ready"));',
        ),
      );
      // The peer hears the node, asks the service of the machine from the same port, and prints the port of the node and the answer.
      const peer = run(
        outside,
        `let port; socket.on("message", (text, from) => {
          if (port === undefined) { port = from.port; socket.send("ask", 5022, "203.0.113.1"); } else console.log(port + " " + text);
        }).bind(5000, "${farAddress}", () => console.log("ready"));`,
      );
      await line(peer);
      run(
        lab,
        `socket.on("message", () => socket.send("node", 5000, "${farAddress}")).bind(5022, () => socket.send("hello", 5000, "${farAddress}"));`,
      );
      const [port, answer] = (await line(peer)).split(" ");
      expect(answer).toBe("service");
      expect(Number(port)).toBeGreaterThanOrEqual(61_000);
    } finally {
      for (const program of programs) program.kill("SIGKILL");
    }
  });

  test("the machine answers echo requests only from the network's own addresses", async () => {
    await setPolicy(none);
    const replies = async () => {
      const [names = "", values = ""] = (await inside(machine, "grep", "^Icmp:", "/proc/net/snmp")).stdout.split("\n");
      return Number(values.split(" ")[names.split(" ").indexOf("OutEchoReps")]);
    };
    const ping = async (...from: string[]) =>
      (await inside(lab, "busybox", "ping", "-c", "1", "-W", "2", ...from, `${uplink.prefix}.1`)).code;
    const before = await replies();
    expect(await ping()).toBe(0);
    expect(await ping("-I", "198.18.0.9")).not.toBe(0);
    expect(await replies()).toBe(before + 1);
  });

  test("nodes add only addresses of their network to the machine's neighbour table", async () => {
    const neighbours = async () => (await inside(machine, "ip", "-4", "neigh", "show", "dev", uplink.device)).stdout;
    const ask = (from: string) => inside(lab, "busybox", "arping", "-c", "1", "-w", "1", "-I", "eth0", "-s", from, `${uplink.prefix}.1`);
    await setPolicy(none);
    await inside(machine, "ip", "neigh", "flush", "all");
    await ask("198.18.0.9");
    // The answer shows that the packets before it were processed.
    expect((await inside(lab, "busybox", "ping", "-c", "1", "-W", "5", `${uplink.prefix}.1`)).code).toBe(0);
    expect(await neighbours()).toContain(`${uplink.prefix}.100 `);
    expect(await neighbours()).not.toContain("198.18.0.9");
    await inside(machine, "nft", "delete", "table", "arp", uplink.table);
    await ask("198.18.0.9");
    await expect.poll(neighbours).toContain("198.18.0.9");
  });

  test("a nat network uses only a part of the connections that the machine can track", async () => {
    await setPolicy(none);
    const flood = `const socket = require("node:dgram").createSocket("udp4"); let left = 8000;
      const next = () => (left-- > 0 ? socket.send("x", 1000 + left, ${JSON.stringify(farAddress)}, next) : socket.close()); next();`;
    succeeded(["flood"], await inside(lab, process.execPath, "-e", flood));
    const tracked = Number((await inside(machine, "cat", "/proc/sys/net/netfilter/nf_conntrack_count")).stdout);
    expect(tracked).toBeGreaterThan(4_000);
    expect(tracked).toBeLessThan(4_500);
  });
});
