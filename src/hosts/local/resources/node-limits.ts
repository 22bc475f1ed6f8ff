import type { ObservedLimits } from "../../../engine/model/observed.ts";
import type { DefinedNode } from "../definitions/definition.ts";
import type { LocalTemplate } from "../templates/template.ts";
import { type ControlGroups, type Controller, socketMemoryFile } from "./control-groups.ts";

/** What a node may take of the machine. */
export interface NodeLimits {
  /** Cores. Absent: all that the machine has, shared evenly with others that want it. */
  readonly cpu?: number;
  /** MiB, with page cache, tmpfs and what the kernel keeps for it. */
  readonly ram: number;
  /** Processes and threads. */
  readonly processes: number;
  /** MiB; no file of its disk becomes larger, and it is suspended when all of them together take more (disk-watch.ts). 0: no limit. */
  readonly disk: number;
}

/** Where neither node nor template says it: roomy for a router or a host, small beside a machine. */
export const defaultLimits = { ram: 1024, processes: 1024, disk: 4096 } as const;

export function nodeLimits(node: DefinedNode, template: LocalTemplate | undefined): NodeLimits {
  const given = template?.limits ?? {};
  if (template?.vm !== undefined) {
    // What its hypervisor needs: the guest's memory and its own, with the code that a software processor translates. The guest's CPUs are its limit.
    const guest = node.ram ?? template.vm.ram;
    return { ram: Math.ceil(guest * 1.1) + 1024, processes: given.processes ?? defaultLimits.processes, disk: given.disk ?? 0 };
  }
  return {
    ...(node.cpu === undefined ? {} : { cpu: node.cpu }),
    ram: node.ram ?? given.ram ?? defaultLimits.ram,
    processes: given.processes ?? defaultLimits.processes,
    disk: given.disk ?? defaultLimits.disk,
  };
}

/** Those that this machine keeps. */
export function keptLimits({ cpu, memory, pids }: ControlGroups, limits: NodeLimits): ObservedLimits {
  return {
    ...(cpu === undefined || limits.cpu === undefined ? {} : { cpu: limits.cpu }),
    ...(memory === undefined ? {} : { memoryBytes: limits.ram * mebi }),
    ...(pids === undefined ? {} : { processes: limits.processes }),
    ...(limits.disk === 0 ? {} : { diskBytes: limits.disk * mebi }),
  };
}

/** MiB that a node is expected to take; what is declared is taken at its word. */
export function nodeNeed(node: { readonly ram?: number }, template: LocalTemplate | undefined): number {
  return node.ram ?? template?.vm?.ram ?? template?.need ?? 0;
}

/** One write for the holder: index of the hierarchy or "rlimit", file of the node's group there, value. */
export type LimitEntry = readonly [hierarchy: number | "rlimit", file: string, value: string | number];

const mebi = 1024 * 1024;
/** TCP and UDP sockets may have one part in so many of the node's memory more. */
const socketPart = 4;
/** Microseconds in which the share of CPU time is meted out. */
const period = 100_000;

/** What brings the limits about. The first entries make the node's group in every hierarchy, so that it is in all of them. */
export function limitEntries(groups: ControlGroups, limits: NodeLimits): readonly LimitEntry[] {
  const entries: LimitEntry[] = groups.hierarchies.map((_, i) => [i, "", ""]);
  const put = (controller: Controller | undefined, v1: readonly (readonly [string, string | number])[], v2: typeof v1) => {
    if (controller === undefined) return;
    for (const [file, value] of controller.version === 1 ? v1 : v2) entries.push([controller.hierarchy, file, value]);
  };
  const bytes = limits.ram * mebi;
  const quota = limits.cpu === undefined ? undefined : Math.max(1000, Math.round(limits.cpu * period));
  put(groups.memory, [["memory.limit_in_bytes", bytes]], [["memory.max", bytes]]);
  put(groups.pids, [["pids.max", limits.processes]], [["pids.max", limits.processes]]);
  put(
    groups.cpu,
    [
      ["cpu.cfs_period_us", period],
      ["cpu.cfs_quota_us", quota ?? -1],
    ],
    [["cpu.max", `${quota ?? "max"} ${period}`]],
  );
  entries.push(["rlimit", "fsize", limits.disk * mebi]);
  // Last: the kernel refuses less than is in use, and what comes after a refused entry is not written.
  put(groups.socketMemory, [[socketMemoryFile, bytes / socketPart]], []);
  return entries;
}
