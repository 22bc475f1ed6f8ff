import { readFile, statfs } from "node:fs/promises";
import { cpus } from "node:os";
import { setTimeout as wait } from "node:timers/promises";
import type { HostLoad } from "../../host.ts";
import type { LabDefinition } from "../definitions/definition.ts";
import { tellingTrouble } from "../machine/machine-trouble.ts";
import type { LocalState } from "./local-state.ts";

/** Time over which the load of the processors is measured, ms. */
const sampleMs = 250;

/**
 * Returns the load of this machine.
 * @param directory the directory of the labs, whose file system is measured
 */
export async function machineLoad(
  state: Pick<LocalState, "lab" | "catalogue">,
  labs: readonly LabDefinition[],
  directory: string,
): Promise<HostLoad> {
  const before = processorTimes();
  const [memory, disk, running] = await tellingTrouble(() =>
    Promise.all([memoryUse(), diskUse(directory), runningNodes(state, labs), wait(sampleMs)]),
  );
  const after = processorTimes();
  const all = after.all - before.all;
  return {
    cpuPercent: all === 0 ? 0 : rounded((1 - (after.idle - before.idle) / all) * 100),
    ...memory,
    diskPercent: disk,
    cpus: cpus().length,
    running,
  };
}

function processorTimes(): { readonly idle: number; readonly all: number } {
  let [idle, all] = [0, 0];
  for (const { times } of cpus()) {
    idle += times.idle;
    all += times.user + times.nice + times.sys + times.idle + times.irq;
  }
  return { idle, all };
}

async function memoryUse(): Promise<Pick<HostLoad, "memoryPercent" | "memoryBytes" | "swapPercent">> {
  const text = await readFile("/proc/meminfo", "utf8");
  const bytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1] ?? 0) * 1024;
  const [total, swap] = [bytes("MemTotal"), bytes("SwapTotal")];
  return {
    memoryBytes: total,
    memoryPercent: rounded((1 - bytes("MemAvailable") / total) * 100),
    swapPercent: swap === 0 ? 0 : rounded((1 - bytes("SwapFree") / swap) * 100),
  };
}

/** Returns the used percentage of the space that users can have, as df does. */
async function diskUse(directory: string): Promise<number> {
  const { blocks, bfree, bavail } = await statfs(directory);
  const used = blocks - bfree;
  return used + bavail === 0 ? 0 : rounded((used / (used + bavail)) * 100);
}

async function runningNodes(
  { lab, catalogue }: Pick<LocalState, "lab" | "catalogue">,
  labs: readonly LabDefinition[],
): Promise<HostLoad["running"]> {
  const offered = await catalogue();
  const running: Record<string, number> = {};
  for (const definition of labs) {
    const life = await lab(definition.id).seenLife(definition, offered);
    for (const { id, template } of definition.nodes) {
      if (life.get(id)?.power !== "running") continue;
      const type = offered.template(template)?.type ?? template;
      running[type] = (running[type] ?? 0) + 1;
    }
  }
  return running;
}

function rounded(percent: number): number {
  return Math.round(Math.min(100, Math.max(0, percent)) * 10) / 10;
}
