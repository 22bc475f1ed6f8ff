import { readdirSync } from "node:fs";
import type { Registry } from "./registry.ts";

const probeMs = 50;
const delaySeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** Registers the standard process metrics, under the names that dashboards use. Returns the function that stops measuring. */
export function processMetrics(registry: Registry): () => void {
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
  return eventLoopDelay(registry);
}

/** A histogram. Node's own value is a single number that each reader resets. */
function eventLoopDelay(registry: Registry): () => void {
  const delays = registry.histogram("nodejs_eventloop_delay_seconds", "How late a timer was, twenty times a second.", [], delaySeconds);
  let due = performance.now() + probeMs;
  const timer = setInterval(() => {
    const now = performance.now();
    delays.observe([], Math.max(0, now - due) / 1000);
    due = now + probeMs;
  }, probeMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** Returns no sample if the system does not report the value. */
function openFiles(): Iterable<readonly [readonly string[], number]> {
  try {
    return [[[], readdirSync("/proc/self/fd").length]];
  } catch {
    return [];
  }
}
