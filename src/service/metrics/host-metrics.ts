import type { HostLoad } from "../../hosts/host.ts";
import type { HostLoads } from "../observe/host-load.ts";
import type { Registry, Sample } from "./registry.ts";

/** Maximum age of a reported load, ms. */
const maxAgeMs = 30_000;

/** Registers the host's load, which is read at the beginning of a scrape. No samples if the host reports no load, or does not answer. */
export function hostMetrics(registry: Registry, loads: Pick<HostLoads, "lastSeen">): void {
  const ratio = (name: string, help: string, percent: (load: HostLoad) => number | undefined) =>
    registry.read(`labwright_host_${name}_ratio`, `${help} 0 to 1; absent if the host does not report it.`, () => {
      const seen = loads.lastSeen(maxAgeMs);
      const value = seen && percent(seen.load);
      return value === undefined ? [] : [[[], value / 100] satisfies Sample];
    });
  ratio("cpu", "Processor time of the host that is used,", ({ cpuPercent }) => cpuPercent);
  ratio("memory", "Memory of the host that is used,", ({ memoryPercent }) => memoryPercent);
  ratio("disk", "Room of the host's disk that is used,", ({ diskPercent }) => diskPercent);
  ratio("swap", "Swap of the host that is used,", ({ swapPercent }) => swapPercent);
}
