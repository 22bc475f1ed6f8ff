import { readFile } from "node:fs/promises";
import { holderProcesses } from "../holder/processes.ts";
import type { NodeState } from "./sandbox.ts";

/** The nodes of a lab that run, by the machine's process table: for a holder that cannot be asked. @param holder its pid */
export async function nodeProcesses(lab: string, holder: number): Promise<ReadonlyMap<number, NodeState>> {
  const boot = Date.now() - 1000 * Number((await readFile("/proc/uptime", "utf8")).split(" ")[0]);
  const states = new Map<number, NodeState>();
  for (const { pid, parent, role, start, lab: of } of await holderProcesses()) {
    if (role === "init" || of !== lab || parent !== holder) continue;
    states.set(role, { id: role, state: "running", pid, startedAt: Math.round(boot + start * msPerTick) });
  }
  return states;
}

/** The kernel counts 100 ticks a second for all programs, whatever its own clock does. */
const msPerTick = 10;
