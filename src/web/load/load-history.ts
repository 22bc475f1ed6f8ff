import type { LiveNodeData } from "../../contract/schemas/observe.ts";

/** The load of a node at one time. */
export interface LoadSample {
  /** ms since the epoch. */
  readonly at: number;
  readonly cpu: number | undefined;
  readonly memory: number | undefined;
}

/** The newest samples of each running node, by its id, oldest first. */
export type LoadHistory = ReadonlyMap<string, readonly LoadSample[]>;

/** Older samples are dropped. */
export const loadWindowMs = 120_000;
const maxSamples = 120;

/** Adds the load of all nodes. A node without load, because it does not run, loses its samples. */
export function withLoad(history: LoadHistory, nodes: Iterable<LiveNodeData>, at: number): LoadHistory {
  const next = new Map<string, readonly LoadSample[]>();
  for (const { id, cpu_percent: cpu, memory_bytes: memory } of nodes) {
    if (cpu === undefined && memory === undefined) continue;
    const kept = (history.get(id) ?? []).filter((sample) => sample.at >= at - loadWindowMs);
    next.set(id, [...kept, { at, cpu, memory }].slice(-maxSamples));
  }
  return next;
}
