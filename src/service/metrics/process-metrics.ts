import { readdirSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Registry } from "./registry.ts";

const nanosecond = 1e-9;

/** What every process tells, under the names that dashboards know. Answers the function that ends the measuring. */
export function processMetrics(registry: Registry): () => void {
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  const started = Date.now() / 1000 - process.uptime();
  const memory = (part: keyof NodeJS.MemoryUsage) => () => process.memoryUsage()[part];
  registry.read("process_start_time_seconds", "When the process started, since the epoch.", () => started);
  registry.read(
    "process_cpu_seconds_total",
    "Processor time, of user and system.",
    () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
    { type: "counter" },
  );
  registry.read("process_resident_memory_bytes", "Resident memory.", memory("rss"));
  registry.read("process_open_fds", "Open file descriptors.", openFiles);
  registry.read("nodejs_heap_size_total_bytes", "Size of the JavaScript heap.", memory("heapTotal"));
  registry.read("nodejs_heap_size_used_bytes", "Used part of the JavaScript heap.", memory("heapUsed"));
  registry.read("nodejs_external_memory_bytes", "Memory of buffers and the like, outside the heap.", memory("external"));
  registry.read(
    "nodejs_eventloop_delay_seconds",
    "How late timers were since these metrics were read last: by quantile, 1 is the worst.",
    () => {
      // Nothing was measured yet: Node says NaN and its largest number.
      const known = delay.max > 0 && delay.min <= delay.max;
      const samples = [0.5, 0.99, 1].map(
        (quantile) => [[String(quantile)], known ? delay.percentile(quantile * 100) * nanosecond : 0] as const,
      );
      delay.reset();
      return samples;
    },
    { labels: ["quantile"] },
  );
  return () => void delay.disable();
}

/** Nothing where the system does not tell. */
function openFiles(): Iterable<readonly [readonly string[], number]> {
  try {
    return [[[], readdirSync("/proc/self/fd").length]];
  } catch {
    return [];
  }
}
