import { readFile } from "node:fs/promises";
import { holderProcesses } from "../holder/processes.ts";
import type { NodeState } from "./sandbox.ts";

/** Reads the running nodes of a lab from the machine's process table, for a holder that does not answer. @param holder its pid */
export async function nodeProcesses(lab: string, holder: number): Promise<ReadonlyMap<number, NodeState>> {
  const boot = Date.now() - 1000 * Number((await readFile("/proc/uptime", "utf8")).split(" ")[0]);
  const states = new Map<number, NodeState>();
  for (const { pid, parent, role, start, lab: of } of await holderProcesses()) {
    if (role === "init" || of !== lab || parent !== holder) continue;
    states.set(role, { id: role, state: "running", pid, startedAt: Math.round(boot + start * msPerTick) });
  }
  return states;
}

/** For programs the kernel always counts 100 ticks per second, independent of its internal clock. */
const msPerTick = 10;
