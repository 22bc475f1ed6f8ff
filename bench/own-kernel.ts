import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { startService } from "./service.ts";

export interface OwnKernelFigures {
  /** ms from the start of the deploy until all nodes are ready. */
  readonly ms: number;
  /** Memory of the hypervisors, MiB, with their shares of shared pages. */
  readonly memory: number;
}

/** Deploys `count` nodes with kernels of their own, connected in a ring, and waits until all are ready. */
export async function ownKernels(count: number): Promise<OwnKernelFigures> {
  const service = await startService("embedded");
  try {
    const { client } = service;
    const nodes = Array.from({ length: count }, (_, i) => `  n${i}: {template: linux, kernel: own}\n`).join("");
    const links = Array.from({ length: count > 1 ? count : 0 }, (_, i) => `  - ["n${i}:eth0", "n${(i + 1) % count}:eth1"]\n`).join("");
    const before = new Set(hypervisors());
    const began = performance.now();
    await client.deployProject({ yaml: `name: kernels\nnodes:\n${nodes}${links === "" ? "" : `links:\n${links}`}` });
    const ready = async () =>
      (await client.getProjectStatus({ lab: "/kernels" })).live?.nodes?.every((node) => node.ready === true) === true;
    while (!(await ready())) await delay(50);
    const ms = performance.now() - began;
    const memory = hypervisors().filter((pid) => !before.has(pid));
    return { ms, memory: memory.reduce((sum, pid) => sum + share(pid), 0) };
  } finally {
    await service.close();
  }
}

function hypervisors(): readonly string[] {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name) && commandOf(name).includes("/guest/kernel"));
}

/** Empty for a process that has ended meanwhile. */
function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) return "";
    throw error;
  }
}

function share(pid: string): number {
  return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0) / 1024;
}
