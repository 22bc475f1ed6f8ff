import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { promisify } from "node:util";
import { processorMs } from "./processor-time.ts";
import { ringYaml } from "./ring.ts";
import { startService } from "./service.ts";

const run = promisify(execFile);

/** Measures `plan` of an unchanged lab of `count` nodes through the API (memory host), in seconds. Also returns the number of planned steps. */
export async function planUnchanged(count: number): Promise<{ readonly seconds: readonly number[]; readonly operations: number }> {
  const service = await startService("memory");
  try {
    const yaml = ringYaml(count);
    await service.client.deployProject({ yaml });
    const seconds: number[] = [];
    let operations = 0;
    for (let i = 0; i < 5; i++) {
      const begin = performance.now();
      const plan = await service.client.planProject({ yaml });
      seconds.push((performance.now() - begin) / 1000);
      operations += plan.operations?.length ?? 0;
    }
    return { seconds, operations };
  } finally {
    await service.close();
  }
}

export interface Polling {
  readonly pollers: number;
  /** Time between the starts of two calls of a poller, ms. 0: the next call starts with the answer. */
  readonly everyMs: number;
}

/** Duration of the polling, ms. */
export const pollingMs = 5_000;

/** Measures each status call of a running lab on the embedded host, in ms. The first calls after the deploy are not counted. */
export async function statusPolls(
  count: number,
  pollings: readonly Polling[],
): Promise<readonly (Polling & { readonly ms: readonly number[] })[]> {
  const service = await startService("embedded");
  try {
    const { lab } = await service.client.deployProject({ yaml: ringYaml(count) });
    const status = await service.client.getProjectStatus({ lab });
    if (status.live?.nodes?.length !== count) throw new Error(`the lab's status has ${status.live?.nodes?.length} nodes`);
    const results = [];
    for (const polling of pollings) {
      const args = [service.url, join(service.stateDir, "server.pem"), lab, polling.pollers, polling.everyMs, pollingMs].map(String);
      const { stdout } = await run(process.execPath, [join(import.meta.dirname, "status-pollers.ts"), ...args], {
        env: { ...process.env, TOKEN: service.client.token },
        maxBuffer: 64 << 20,
      });
      const ms = JSON.parse(stdout) as readonly number[];
      results.push({ ...polling, ms });
    }
    await service.client.destroyProject({ lab });
    return results;
  } finally {
    await service.close();
  }
}

/**
 * Measures GET /api/v1/health and a raw node:https server with the same certificate, headers and body, alternately: answers per second of processor time, so that
 * other work on the machine counts less. Both have answered for three seconds before.
 */
export async function health(rounds: number): Promise<{ readonly service: readonly number[]; readonly raw: readonly number[] }> {
  const service = await startService("memory");
  const raw = spawn(process.execPath, [join(import.meta.dirname, "raw-https.ts"), service.stateDir, `${service.url}/api/v1/health`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [line] = (await once(raw.stdout, "data")) as [Buffer];
    const ofService = () => load(`${service.url}/api/v1/health`, service.pid);
    const ofRaw = () => load(String(line).trim(), raw.pid ?? 0);
    await ofService();
    await ofRaw();
    const figures: { service: number[]; raw: number[] } = { service: [], raw: [] };
    for (let i = 0; i < rounds; i++) {
      figures.service.push(await ofService());
      figures.raw.push(await ofRaw());
    }
    return figures;
  } finally {
    raw.kill("SIGTERM");
    await service.close();
  }
}

/** Returns the answers that a server gives per second of its processor time to wrk with one thread and 16 kept-alive connections, in 3 seconds. */
async function load(url: string, pid: number): Promise<number> {
  const before = processorMs(pid);
  const { stdout } = await run("wrk", ["-t1", "-c16", "-d3s", url]);
  const spent = (processorMs(pid) - before) / 1000;
  const answers = Number(/(\d+) requests in/.exec(stdout)?.[1]);
  if (!(answers > 0) || /Non-2xx/.test(stdout)) throw new Error(`wrk: ${stdout}`);
  return answers / spent;
}
