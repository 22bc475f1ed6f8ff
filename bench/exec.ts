import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { megabytes } from "./megabytes.ts";
import { podmanContainer } from "./podman.ts";
import { processorMs } from "./processor-time.ts";
import { startService } from "./service.ts";

export interface ExecFigures {
  /** ms of one program in one node: through the API, by nsenter, and by podman in a container. */
  readonly one: readonly number[];
  readonly oneFloor: readonly number[];
  readonly onePodman: readonly number[];
  /** ms of one program in each of 100 nodes: in one call, by 100 nsenter at once, and by 100 podman at once, in one container. */
  readonly all: readonly number[];
  readonly allFloor: readonly number[];
  readonly allPodman: readonly number[];
  /** MB/s of `labwright cp` and `podman cp` of one large file, out of a node and into it, with the start of the program. Floor: TLS between two processes. */
  readonly down: readonly number[];
  readonly downFloor: readonly number[];
  readonly downPodman: readonly number[];
  readonly up: readonly number[];
  readonly upFloor: readonly number[];
  readonly upPodman: readonly number[];
  /** Processor time of the service for one copy, s. */
  readonly downService: readonly number[];
  readonly upService: readonly number[];
}

const count = 100;
const lab = "/exec";

/** Runs programs in the nodes of a lab, and copies a file between a node and this machine. */
export async function execFigures(): Promise<ExecFigures> {
  // The program as users install it.
  execFileSync(process.execPath, ["scripts/bundle.ts"]);
  const service = await startService("embedded");
  const { client } = service;
  await using container = await podmanContainer();
  const file = join("/dev/shm", `labwright-bench-${process.pid}`);
  try {
    const names = Array.from({ length: count }, (_, i) => `h${i}`);
    await client.deployProject({ yaml: `name: exec\nnodes:\n${names.map((name) => `  ${name}: {template: linux}\n`).join("")}` });
    const isUp = async () => (await client.getProjectStatus({ lab })).live?.nodes?.every(({ status }) => status === "running") === true;
    while (!(await isUp())) await delay(200);
    const run = async (argv: readonly string[], nodes?: readonly string[]): Promise<number> => {
      const began = performance.now();
      let good = 0;
      for await (const { type, exit_code } of await client.execNodes({ lab, argv, ...(nodes && { nodes }) }))
        if (type === "end" && exit_code === 0) good++;
      if (good !== (nodes?.length ?? count)) throw new Error(`${argv.join(" ")}: ${good} of ${nodes?.length ?? count} nodes`);
      return performance.now() - began;
    };
    const makeLarge = ["sh", "-c", `head -c ${megabytes * 1e6} /dev/zero > /root/large`];
    await run(makeLarge, ["h0"]);
    await container.exec(makeLarge);
    const rate = async (work: () => Promise<unknown>) => (megabytes * 1000) / (await elapsed(work));
    const copy = async (from: string, to: string): Promise<number> => {
      const env = { ...process.env, LABWRIGHT_URL: service.url, LABWRIGHT_PIN: service.fingerprint, LABWRIGHT_TOKEN: client.token ?? "" };
      return await rate(async () => {
        const argv = ["dist/bundle/cli/main.js", "cp", "--lab", lab, from, to];
        const [code] = await once(spawn(process.execPath, argv, { env, stdio: ["ignore", "inherit", "inherit"] }), "exit");
        if (code !== 0) throw new Error(`cp ${from} ${to} ended with ${code}`);
      });
    };
    const raw = spawn(process.execPath, ["bench/raw-tls.ts", "server", join(service.stateDir, "server.pem")], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    using _ = { [Symbol.dispose]: () => void raw.kill() };
    const port = String(((await once(raw.stdout, "data")) as [Buffer])[0]).trim();
    const floor = async (direction: "down" | "up"): Promise<void> => {
      const [code] = await once(spawn(process.execPath, ["bench/raw-tls.ts", direction, port], { stdio: "inherit" }), "exit");
      if (code !== 0) throw new Error(`raw TLS ${direction} ended with ${code}`);
    };
    const inits = nodeInits(service.runDir);
    const figures: Record<keyof ExecFigures, number[]> = {
      ...{ one: [], oneFloor: [], onePodman: [] },
      ...{ all: [], allFloor: [], allPodman: [] },
      ...{ down: [], downFloor: [], downPodman: [], up: [], upFloor: [], upPodman: [], downService: [], upService: [] },
    };
    for (let round = 0; round < 3; round++) {
      figures.all.push(await run(["true"]));
      figures.allFloor.push(await elapsed(() => Promise.all(inits.map(enter))));
      figures.allPodman.push(await elapsed(() => Promise.all(inits.map(() => container.exec(["true"])))));
      for (let i = 0; i < 30; i++) {
        figures.one.push(await run(["true"], ["h1"]));
        figures.oneFloor.push(await elapsed(() => enter(inits[0] ?? "")));
        if (i % 3 === 0) figures.onePodman.push(await elapsed(() => container.exec(["true"])));
      }
      const worked = [processorMs(service.pid)];
      figures.down.push(await copy("h0:/root/large", file));
      worked.push(processorMs(service.pid));
      // A copy replaces a file only when it is complete, which would need room for two of these.
      await run(["rm", "/root/large"], ["h0"]);
      const beforeUp = processorMs(service.pid);
      figures.up.push(await copy(file, "h0:/root/large"));
      worked.push(processorMs(service.pid));
      figures.downService.push((worked[1]! - worked[0]!) / 1000);
      figures.upService.push((worked[2]! - beforeUp) / 1000);
      figures.downFloor.push(await rate(() => floor("down")));
      figures.upFloor.push(await rate(() => floor("up")));
      figures.downPodman.push(await rate(() => container.copy(":/root/large", file)));
      figures.upPodman.push(await rate(() => container.copy(file, ":/root/large")));
    }
    return figures;
  } finally {
    await service.close();
    await rm(file, { force: true });
  }
}

/** Returns the pids of the inits of the lab's nodes. */
function nodeInits(runDir: string): readonly string[] {
  const [id = ""] = readdirSync(runDir);
  const pids = readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      return line.startsWith("labwright-holder") && /node=\d/.test(line) && line.includes(`lab=${id}`);
    } catch {
      return false; // it has ended
    }
  });
  if (pids.length < count) throw new Error(`${pids.length} nodes found, not ${count}`);
  return pids;
}

function enter(pid: string): Promise<unknown> {
  return once(spawn("nsenter", ["-t", pid, "-n", "-m", "-u", "-i", "-p", "true"], { stdio: "ignore" }), "exit");
}

async function elapsed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
