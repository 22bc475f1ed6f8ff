import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ControlGroups } from "./control-groups.ts";
import type { GroupCeilings } from "./lab-groups.ts";

/** The administrator's settings for the machine's memory. */
export interface CapacityRules {
  /** MiB that labs leave to the rest of the machine. LABWRIGHT_MEMORY_RESERVE; default: a sixteenth of the machine, at least 256. */
  readonly reserve: number;
  /** Factor by which the memory of all nodes may exceed the memory for labs, at least 1. LABWRIGHT_MEMORY_OVERCOMMIT; default 1. */
  readonly overcommit: number;
}

/** Reads the rules from the environment. Throws Error that names a variable whose value is not a number in its range. */
export function capacityRules(env: Readonly<Record<string, string | undefined>>, total: number): CapacityRules {
  return {
    reserve: numberOf(env, "LABWRIGHT_MEMORY_RESERVE", 0) ?? Math.max(256, Math.round(total / 16)),
    overcommit: numberOf(env, "LABWRIGHT_MEMORY_OVERCOMMIT", 1) ?? 1,
  };
}

function numberOf(env: Readonly<Record<string, string | undefined>>, name: string, least: number): number | undefined {
  const text = env[name];
  if (text === undefined || text === "") return undefined;
  const value = Number(text);
  if (!Number.isFinite(value) || value < least)
    throw new Error(`${name} must be a number of at least ${least}, not ${JSON.stringify(text)}`);
  return value;
}

/** MiB. */
export interface MachineMemory {
  /** The memory of the machine, or the limit of the service's control group if that is smaller. */
  readonly total: number;
  /** The memory that programs can get now without swapping. */
  readonly available: number;
}

const mebi = 1024 * 1024;

export function machineMemory(groups: ControlGroups): MachineMemory {
  const text = readFileSync("/proc/meminfo", "utf8");
  const of = (name: string) => Math.floor(Number(new RegExp(`^${name}: +(\\d+) kB`, "m").exec(text)?.[1] ?? 0) / 1024);
  const [total, available] = [of("MemTotal"), of("MemAvailable")];
  const above = limitAbove(groups);
  if (above === undefined || above.limit >= total) return { total, available };
  return { total: above.limit, available: Math.max(0, Math.min(available, above.limit - above.used)) };
}

/** Returns the memory limit of the group that contains all labs. */
function limitAbove({ memory, hierarchies }: ControlGroups): { readonly limit: number; readonly used: number } | undefined {
  if (memory === undefined) return undefined;
  const directory = dirname(hierarchies[memory.hierarchy]!.base);
  const [limit, used] = memory.version === 1 ? ["memory.limit_in_bytes", "memory.usage_in_bytes"] : ["memory.max", "memory.current"];
  try {
    const most = Number(readFileSync(join(directory, limit), "utf8"));
    const now = Number(readFileSync(join(directory, used), "utf8"));
    return Number.isFinite(most) ? { limit: Math.floor(most / mebi), used: Math.floor(now / mebi) } : undefined;
  } catch {
    return undefined; // the root group has no limit
  }
}

/**
 * Returns the MiB that are available for further nodes. The smaller of two values: the memory for labs minus the declared memory of the running
 * nodes, and the memory that the machine has free now. @param promised declared memory of all running nodes, MiB
 */
export function freeMemory({ total, available }: MachineMemory, { reserve, overcommit }: CapacityRules, promised: number): number {
  return Math.max(0, Math.floor(Math.min((total - reserve) * overcommit - promised, (available - reserve) * overcommit)));
}

/**
 * Returns the limits of all labs and of one lab. An eighth of all processes (at least 1,024) and the memory reserve stay with the rest of the
 * machine. One lab may have a quarter of the processes, or 48 per node if that is more, but at most three quarters.
 */
export function ceilings(nodes: number, memory: MachineMemory, rules: CapacityRules): GroupCeilings {
  const most = Number(readFileSync("/proc/sys/kernel/pid_max", "utf8"));
  return {
    machineProcesses: most - Math.max(1024, Math.floor(most / 8)),
    labProcesses: Math.min(Math.floor((most * 3) / 4), Math.max(Math.floor(most / 4), 48 * nodes)),
    machineMemory: Math.max(256, memory.total - rules.reserve) * mebi,
  };
}
