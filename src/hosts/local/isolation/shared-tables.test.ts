import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, watch } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { builtinTemplates } from "../templates/reading/templates.ts";
import { eventually, labOf, operation, type TestLocalHost, testLocalHost } from "../testing/test-local-host.fixture.ts";

/** Kernel tables that all labs and the machine share: a node takes all it can, while the machine and a second lab go on. */

let local: TestLocalHost;
/** The program abuse, base64. */
let binary: string;
const root = process.getuid?.() === 0;
const pair = (name: string) =>
  labOf(`
name: ${name}
nodes:
  a: {template: linux, ram: 128, exec: ["ip addr add 10.0.0.1/9 dev eth0", "ip link set eth0 up"]}
  b: {template: linux, exec: ["ip addr add 10.0.0.2/9 dev eth0", "ip link set eth0 up"]}
links: [["a:eth0", "b:eth0"]]
`);

beforeAll(async () => {
  local = await testLocalHost();
  for (const path of ["/loud", "/quiet"]) await local.deploy(path, pair(path.slice(1)));
  const program = join(dirname(local.paths.state), "abuse");
  execFileSync("cc", ["-O1", "-static", "-o", program, fileURLToPath(new URL("../../../../native/attacks/abuse.c", import.meta.url))]);
  binary = await readFile(program, "base64");
  for (const path of ["/loud", "/quiet"]) await install(path);
});

/** Puts the program into the lab's node a. */
async function install(path: string): Promise<void> {
  const put = ["busybox", "sh", "-c", "busybox base64 -d > /root/abuse && busybox chmod 755 /root/abuse"];
  const sandbox = await local.sandbox(path);
  expect(await sandbox.exec(Number(local.ids(path).nodes["a"]), put, { stdin: binary })).toMatchObject({ code: 0, stderr: "" });
}

afterAll(async () => {
  await local[Symbol.asyncDispose]();
});

/** Runs the program in a node of the lab until the returned handle is closed. `report` is the line that it prints when it has all it can get. */
async function abuse(path: string, ...what: readonly string[]): Promise<{ readonly report: string } & AsyncDisposable> {
  const script = `/root/abuse ${what.join(" ")} > /tmp/report 2>&1 < /dev/null & echo $!`;
  const pid = (await local.exec(path, "a", "sh", "-c", script)).stdout.trim();
  const report = await eventually(
    `a report of ${what.join(" ")}`,
    60_000,
    async () => (await local.exec(path, "a", "cat", "/tmp/report")).stdout,
    (text) => text.endsWith("\n"),
  );
  return {
    report: report.trim(),
    [Symbol.asyncDispose]: async () => {
      await local.exec(path, "a", "sh", "-c", `kill -9 ${pid}; rm /tmp/report; while [ -d /proc/${pid} ]; do sleep 0.05; done`);
    },
  };
}

/** The second lab resolves a neighbour, pings it and runs programs. */
async function quietLabWorks(): Promise<void> {
  for (let i = 0; i < 3; i++) {
    await local.exec("/quiet", "a", "ip", "neigh", "flush", "all");
    expect(await local.exec("/quiet", "a", "ping", "-c", "2", "-i", "0.2", "-W", "5", "10.0.0.2")).toMatchObject({ code: 0 });
    expect((await local.exec("/quiet", "b", "echo", "well")).stdout).toBe("well\n");
  }
}

describe.runIf(root)("neighbour tables", () => {
  test.each([1_500, 10_000, 100_000])("%i neighbours of one node leave ARP working in another lab", async (count) => {
    await using taken = await abuse("/loud", "neighbours", String(count));
    expect(taken.report).toBe(String(count));
    await quietLabWorks();
  });

  test("a node that scans a /16 leaves ARP working in another lab", async () => {
    await using taken = await abuse("/loud", "scan");
    expect(taken.report).toBe("65536");
    await quietLabWorks();
  });
});

test("a node has at most 64 terminals, and another lab opens its own", async () => {
  await using taken = await abuse("/loud", "terminals");
  expect(taken.report).toBe("63 No space left on device");
  await quietLabWorks();
  await using other = await abuse("/quiet", "terminals");
  expect(other.report).toBe("63 No space left on device");
});

test.runIf(root)("a node that takes all inotify instances leaves those of the machine's root and of other labs", async () => {
  await using taken = await abuse("/loud", "inotify");
  expect(taken.report).toMatch(/^\d+ Too many open files$/);
  expect(Number.parseInt(taken.report, 10)).toBeGreaterThan(50);
  for (let i = 0; i < 8; i++) watch("/tmp").close();
  await using other = await abuse("/quiet", "inotify");
  expect(Number.parseInt(other.report, 10)).toBeGreaterThan(50);
  await quietLabWorks();
});

test("a node that has as many descriptors on their way as it can keeps no other node from starting", async () => {
  await using taken = await abuse("/loud", "in-flight");
  expect(taken.report).toMatch(/^\d+ Too many references: cannot splice$/);
  const power = (step: Parameters<typeof operation>[0]) =>
    local.session.apply("/loud", [{ ...operation(step, 0), key: "b" }], { ids: local.ids("/loud"), step: () => undefined });
  await power({ do: "stop", node: "b", mode: 3 });
  await power({ do: "start", node: "b" });
  expect((await local.exec("/loud", "b", "echo", "alive")).stdout).toBe("alive\n");
});

describe("slots for asynchronous I/O", () => {
  test("do not exist for nodes, whatever their environment contains", async () => {
    await local.deploy("/asking", labOf("name: asking\nnodes:\n  a: {template: linux, env: {LABWRIGHT_SYSTEM_CALLS: wide}}\n"));
    await install("/asking");
    {
      await using taken = await abuse("/asking", "aio");
      expect(taken.report).toBe("0 Function not implemented");
    }
    await local.deploy("/asking", null);
  });

  test("exist for nodes of a template with the wide profile", async () => {
    const text = (await readFile(join(builtinTemplates, "linux.yaml"), "utf8")).replace(/^id: linux$/m, "id: open\nsystem-calls: wide");
    await mkdir(join(local.paths.state, "templates"), { recursive: true });
    await writeFile(join(local.paths.state, "templates", "open.yaml"), text);
    await local.reopen();
    await local.deploy("/open", labOf("name: open\nnodes:\n  a: {template: open}\n"));
    await install("/open");
    await using taken = await abuse("/open", "aio");
    // The machine has a limit of its own, which other programs may have reached.
    expect(taken.report).toMatch(/^[1-9]|^0 Resource temporarily unavailable/);
    await quietLabWorks();
    await using namespaces = await abuse("/open", "namespaces");
    expect(namespaces.report).toBe("127 No space left on device");
  });
});

describe("packet rings", () => {
  test("take at most 8 MiB of memory in a node", async () => {
    const before = freeMemory();
    await using taken = await abuse("/loud", "rings");
    expect(taken.report).toBe("0 Cannot allocate memory");
    expect(before - freeMemory()).toBeLessThan(512 * 2 ** 20); // 16 rings of 64 MiB would be 1 GiB
    await quietLabWorks();
    await using small = await abuse("/loud", "small-rings");
    expect(small.report).toBe("8 Cannot allocate memory");
    await quietLabWorks();
  });

  test("tcpdump captures in a node, by exec and from the node's own processes", async () => {
    const dump = "timeout 20 tcpdump -c 1 -n -i eth0 icmp 2>&1";
    const script = `${dump} & sleep 0.3; ping -c 20 -i 0.2 10.0.0.2 > /dev/null & wait %1`;
    expect((await local.exec("/quiet", "a", "sh", "-c", script)).stdout).toContain("1 packet captured");
    const observed = (await local.session.observe("/quiet"))!;
    const console = await local.session.console("/quiet", observed.nodes.find(({ name }) => name === "a")!.id);
    let text = "";
    console.stream.setEncoding("latin1").on("data", (chunk: string) => {
      text += chunk;
    });
    console.stream.write(`ping -c 50 -i 0.2 10.0.0.2 > /dev/null & ${dump}\n`);
    await eventually(
      "a packet on the console",
      30_000,
      async () => text,
      (all) => all.includes("1 packet captured"),
    );
    console.stream.destroy();
  });
});

describe("queues of sockets that nobody reads", () => {
  /** Memory that the kernel itself uses. Programs that run beside the tests use other memory. */
  const kernelMemory = () => {
    const text = readFileSync("/proc/meminfo", "utf8");
    const of = (name: string) => 1024 * Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)![1]);
    return of("MemTotal") - of("MemFree") - of("Active") - of("Inactive") - of("Unevictable") - of("SReclaimable");
  };
  const mebi = 2 ** 20;
  /** Labs beside this one start and end, and the kernel's memory with them; the queues stay as they are. */
  const comesBelow = (what: string, before: number, most: number) =>
    eventually(
      what,
      60_000,
      async () => (kernelMemory() - before) / mebi,
      (more) => more < most,
    );

  // Those of the first five are 238 MiB at most (docs/isolation.md), the rest is room for other labs. Without a bound they are 900 to 2,000 MiB.
  test.each([
    ["netlink", 500],
    ["large-netlink", 500],
    ["messages", 500],
    ["packet", 500],
    ["raw", 500],
    ["udp", 150],
    ["tcp", 150],
  ])("those of %s take at most %i MiB, which come back", async (family, most) => {
    const before = kernelMemory();
    {
      await using taken = await abuse("/loud", family);
      expect(taken.report).toMatch(/^\d+ /);
      await comesBelow("the queues are bounded", before, most);
      await quietLabWorks();
    }
    // The figure is that of the machine: other programs take kernel memory, too.
    await comesBelow("the memory comes back", before, Math.min(200, most / 2));
    // A killed program closes its sockets one by one.
    await eventually(
      "the node makes sockets again",
      60_000,
      () => local.exec("/loud", "a", "ping", "-c", "1", "-W", "5", "10.0.0.2"),
      ({ code }) => code === 0,
    );
  });

  test("those of unix count for the node's own memory: the kernel ends the program, or the node", async () => {
    await local.deploy("/full", labOf("name: full\nnodes:\n  a: {template: linux, ram: 128}\n"));
    await install("/full");
    const before = kernelMemory();
    const [end] = await Promise.allSettled([local.exec("/full", "a", "/root/abuse", "unix")]);
    await comesBelow("the memory comes back", before, 150);
    if (end.status === "fulfilled") expect(end.value).toMatchObject({ stdout: "", code: 137 });
    await quietLabWorks();
    await local.deploy("/full", null);
  });
});

test("the holder keeps nothing of programs that have ended in a node", async () => {
  const { pid } = await local.sandbox("/quiet");
  const descriptors = () => readdirSync(`/proc/${pid}/fd`).length;
  await local.exec("/quiet", "a", "true");
  const before = descriptors();
  for (let i = 0; i < 30; i++) await local.exec("/quiet", "a", "true");
  await eventually(
    "as many descriptors as before",
    10_000,
    async () => descriptors(),
    (now) => now <= before,
  );
});

/** Bytes. */
function freeMemory(): number {
  return 1024 * Number(/MemAvailable:\s+(\d+)/.exec(readFileSync("/proc/meminfo", "utf8"))![1]);
}
