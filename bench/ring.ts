import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import type { LabwrightClient } from "../src/client/index.ts";
import { findImages } from "../src/hosts/local/images/images.ts";
import { idRange } from "../src/hosts/local/machine/idmap.ts";
import { localPaths } from "../src/hosts/local/machine/paths.ts";
import type { Sandbox } from "../src/hosts/local/sandbox/sandbox.ts";
import { createSandbox } from "../src/hosts/local/sandbox/sandbox-client.ts";
import { chownDisk } from "./disk.ts";
import { startService } from "./service.ts";

const run = promisify(execFile);

export interface RingResult {
  /** Seconds from the call until every link has carried a ping. */
  readonly usable: number;
  /** Seconds from the call until the system reports the end. */
  readonly started: number;
  readonly stopped: number;
  /** KiB of proportional memory per idle node: its processes and its share of the holder. */
  readonly pssKib?: number;
}

/** Returns the two addresses of link i, which connects node i (right) and node i+1 (left). */
export function linkAddresses(i: number): { readonly right: string; readonly left: string } {
  const base = i * 4;
  const prefix = `10.${(base >> 16) & 255}.${(base >> 8) & 255}`;
  return { right: `${prefix}.${(base & 255) + 1}`, left: `${prefix}.${(base & 255) + 2}` };
}

/** Returns a ring of `linux` nodes: eth0 to the right, eth1 to the left. The other interfaces are free. */
export function ringYaml(count: number, interfaces = 2): string {
  const nodes = Array.from({ length: count }, (_, i) => {
    const right = linkAddresses(i).right;
    const left = linkAddresses((i + count - 1) % count).left;
    return `  n${i}:\n    template: linux\n${interfaces > 2 ? `    ethernet: ${interfaces}\n` : ""}    exec: ["ip addr add ${right}/30 dev eth0", "ip addr add ${left}/30 dev eth1"]`;
  });
  const links = Array.from({ length: count }, (_, i) => `  - ["n${i}:eth0", "n${(i + 1) % count}:eth1"]`);
  return `name: ring${count}\nnodes:\n${nodes.join("\n")}\nlinks:\n${links.join("\n")}\n`;
}

/** Warms up the service, because a real one runs for weeks: compiles its code, including the threads that plan large labs. */
const warmUps = { times: 3, count: 250 };

/** Measures through the API: deploy, ping every link, destroy. */
export async function ringThroughApi(count: number): Promise<RingResult> {
  const service = await startService("embedded");
  try {
    const yaml = ringYaml(count);
    for (let i = 0; i < warmUps.times; i++) {
      const { lab } = await service.client.deployProject({ yaml: ringYaml(warmUps.count) });
      await service.client.destroyProject({ lab });
    }
    // The service removes the remains of the previous lab in the background.
    await delay(2_000);
    using pinger = await startPinger();
    const begin = performance.now();
    await service.client.deployProject({ yaml });
    while (!(await allRunning(service.client, `/ring${count}`))) await delay(5);
    const started = seconds(begin);
    const holder = await onlyHolder(service.runDir);
    await pinger.ping(holder, count);
    const usable = seconds(begin);
    const pssKib = (await pssOfTree(holder)) / count;
    const end = performance.now();
    await service.client.destroyProject({ lab: `/ring${count}` });
    return { usable, started, stopped: seconds(end), pssKib };
  } finally {
    await service.close();
  }
}

async function allRunning(client: LabwrightClient, lab: string): Promise<boolean> {
  const { live } = await client.getProjectStatus({ lab });
  return live?.nodes?.every((node) => node.status === "running") === true;
}

/** Measures the same holder with one batch and without the service: the lower bound of the embedded host. */
export async function ringByHolder(count: number): Promise<RingResult> {
  const paths = localPaths(process.env, process.getuid?.() ?? 0);
  const base = (await findImages(paths.images)).find((image) => image.name === "base");
  if (!base) throw new Error("no base image: run npm run setup");
  const dir = await mkdtemp(join(tmpdir(), "labwright-floor-"));
  let lab: Sandbox | undefined;
  try {
    await chmod(dir, 0o711); // the lab's root is an unprivileged user here and must reach its disks
    using pinger = await startPinger();
    const begin = performance.now();
    await mkdir(join(dir, "run"));
    const sandbox = await createSandbox({ holder: paths.holder, dir: join(dir, "run"), lab: "floor", idMap: idRange });
    lab = sandbox;
    const disks = await chownDisk(dir, count);
    const spawned = await sandbox.spawn(
      disks.map((disk, id) => ({
        id: id + 1,
        hostname: `n${id}`,
        lower: base.layers,
        disk,
        files: [],
        env: {},
        boot: [
          "/bin/sh",
          "-c",
          `ip addr add ${linkAddresses(id).right}/30 dev eth0; ip addr add ${linkAddresses((id + count - 1) % count).left}/30 dev eth1`,
        ],
        console: ["/bin/sh", "-l"],
      })),
    );
    const pid = (i: number) => spawned[i % count]?.pid ?? 0;
    const ports = Array.from({ length: count }, (_, i) => [
      `link add name eth0 netns ${pid(i)} up type veth peer name n${i}r`,
      `link set n${i}r up`,
      `link add name eth1 netns ${pid(i)} up type veth peer name n${i}l`,
      `link set n${i}l up`,
    ]).flat();
    const joins = Array.from({ length: count }, (_, i) => {
      const [a, b] = [`n${i}r`, `n${(i + 1) % count}l`];
      return [join1(a, b), join1(b, a)];
    }).flat(2);
    await must(sandbox.run(["ip", "-batch", "-"], `${ports.join("\n")}\n`));
    await must(sandbox.run(["tc", "-batch", "-"], `${joins.join("\n")}\n`));
    await sandbox.release(spawned.map((node) => node.id));
    // A ping before the neighbour has its address would measure the kernel's one-second wait between two ARP requests.
    while (!(await sandbox.info()).nodes.every((node) => node.state === "running")) await delay(10);
    const started = seconds(begin);
    await pinger.ping(sandbox.pid, count);
    const usable = seconds(begin);
    const end = performance.now();
    await sandbox.destroy();
    return { usable, started, stopped: seconds(end) };
  } finally {
    await lab?.destroy(); // also after a failed ping: nothing else would remove it
    await rm(dir, { recursive: true, force: true });
  }
}

function join1(a: string, b: string): string[] {
  return [`qdisc add dev ${a} clsact`, `filter add dev ${a} ingress protocol all u32 match u32 0 0 action mirred egress redirect dev ${b}`];
}

async function must(result: Promise<{ code: number; stderr: string }>): Promise<void> {
  const { code, stderr } = await result;
  if (code !== 0) throw new Error(`batch ended with ${code}: ${stderr.slice(0, 500)}`);
}

/** Measures the lower bound of the kernel: one `ip -batch` creates the namespaces and veth pairs, without processes in them. */
export async function ringByKernel(count: number): Promise<RingResult> {
  const mark = `lwfloor${process.pid}`;
  const lines = [
    ...Array.from({ length: count }, (_, i) => `netns add ${mark}-${i}`),
    ...Array.from(
      { length: count },
      (_, i) => `link add name eth0 netns ${mark}-${i} type veth peer name eth1 netns ${mark}-${(i + 1) % count}`,
    ),
  ];
  const dir = await mkdtemp(join(tmpdir(), "labwright-kernel-"));
  try {
    const begin = performance.now();
    await batch(dir, lines);
    const started = seconds(begin);
    const end = performance.now();
    await batch(
      dir,
      Array.from({ length: count }, (_, i) => `netns delete ${mark}-${i}`),
    );
    return { usable: started, started, stopped: seconds(end) };
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function batch(dir: string, lines: readonly string[]): Promise<void> {
  const { writeFile } = await import("node:fs/promises");
  const file = join(dir, "batch");
  await writeFile(file, `${lines.join("\n")}\n`);
  await run("ip", ["-batch", file], { maxBuffer: 1 << 26 });
}

export async function ringByMininet(count: number): Promise<RingResult> {
  const here = import.meta.dirname;
  const { stdout } = await run("/usr/bin/python3", [join(here, "mininet_ring.py"), String(count), join(here, "pinger.py")], {
    maxBuffer: 1 << 26,
    timeout: 300_000,
  });
  const result = JSON.parse(stdout) as { started: number; usable: number; stopped: number; pings: Pings; pss_kib: number };
  check(result.pings, count);
  return { started: result.started, usable: result.usable, stopped: result.stopped, pssKib: result.pss_kib };
}

interface Pings {
  readonly asked: number;
  readonly answered: number;
}

function check(pings: Pings, count: number): void {
  if (pings.asked !== count || pings.answered !== count) throw new Error(`${pings.answered} of ${count} links carried a ping`);
}

/** The pinging process. It starts before the clock, as for every system. */
async function startPinger() {
  const done = run("/usr/bin/python3", [join(import.meta.dirname, "pinger.py")], { maxBuffer: 1 << 20, timeout: 300_000 });
  done.catch(() => undefined); // ping() throws the error
  await delay(500);
  return {
    /** Pings every link of the holder's nodes from its right-hand node. */
    ping: async (holder: number, count: number): Promise<void> => {
      const asked = Array.from({ length: count }, (_, i) => `n${i} ${linkAddresses(i).left}`);
      done.child.stdin?.end([holder, ...asked].join("\n"));
      check(JSON.parse((await done).stdout) as Pings, count);
    },
    [Symbol.dispose]: () => void done.child.kill(),
  };
}

async function onlyHolder(runDir: string): Promise<number> {
  const { readdir } = await import("node:fs/promises");
  for (const entry of await readdir(runDir, { recursive: true })) {
    if (entry.endsWith("holder.json")) return (JSON.parse(await readFile(join(runDir, entry), "utf8")) as { pid: number }).pid;
  }
  throw new Error("no holder runs");
}

/** Returns the proportional memory of a process and its descendants, KiB. */
async function pssOfTree(root: number): Promise<number> {
  let total = 0;
  const queue = [root];
  for (let pid = queue.pop(); pid !== undefined; pid = queue.pop()) {
    try {
      const text = await readFile(`/proc/${pid}/smaps_rollup`, "utf8");
      total += Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0);
      const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
      queue.push(...children.split(" ").filter(Boolean).map(Number));
    } catch (error) {
      // A process may end between the listing and the read; anything else is an error of the bench.
      if (!["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
  }
  return total;
}

function seconds(since: number): number {
  return (performance.now() - since) / 1000;
}
