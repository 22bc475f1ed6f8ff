import type { ObservedLimits } from "../../../engine/model/observed.ts";
import type { LimitEntry } from "../sandbox/sandbox.ts";
import type { NodeLimits } from "../templates/node-needs.ts";
import { type ControlGroups, type Controller, socketMemoryFile } from "./control-groups.ts";

/** The limits that this machine can enforce. */
export function keptLimits({ cpu, memory, pids }: ControlGroups, limits: NodeLimits): ObservedLimits {
  return {
    ...(cpu === undefined || limits.cpu === undefined ? {} : { cpu: limits.cpu }),
    ...(memory === undefined ? {} : { memoryBytes: limits.ram * mebi }),
    ...(pids === undefined ? {} : { processes: limits.processes }),
    ...(limits.disk === 0 ? {} : { diskBytes: limits.disk * mebi }),
  };
}

const mebi = 1024 * 1024;
/** TCP and UDP sockets may use additionally this fraction of the node's memory (the divisor). */
const socketPart = 4;
/** The period for which CPU time is allotted, microseconds. */
const period = 100_000;

/** Returns the writes that set the limits. The first entries create the node's group in every hierarchy. */
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
  // Last, because the kernel refuses a limit below the current use, and entries after a refused one are not written.
  put(groups.socketMemory, [[socketMemoryFile, bytes / socketPart]], []);
  return entries;
}
