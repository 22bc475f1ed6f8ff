import { cpus, loadavg, totalmem } from "node:os";
import { ownProtocol } from "../../contract/fleet-protocol.ts";
import type { MachineFacts } from "../../service/store/machines.ts";

const mebibyte = 1_048_576;

/** Size and load of this machine. */
export function factsNow(version: string, underlay?: MachineFacts["underlay"]): MachineFacts {
  return {
    version,
    ...(underlay !== undefined && { underlay }),
    protocol: ownProtocol,
    processors: cpus().length,
    load: Math.round((loadavg()[0] ?? 0) * 100) / 100,
    memory: Math.round(totalmem() / mebibyte),
    // MemAvailable of the kernel: without buffers that it would give up.
    availableMemory: Math.round(process.availableMemory() / mebibyte),
  };
}

/** The same for a machine that runs no labs. Releases that do not know `runsLabs` see a machine without free memory. */
export function withoutLabs(facts: MachineFacts): MachineFacts {
  return { ...facts, availableMemory: 0, runsLabs: false };
}
