import type { LocalTemplate } from "./template.ts";

/** What of a node decides how much of the machine it needs. */
export interface NodeSize {
  readonly template: string;
  readonly cpu?: number;
  readonly ram?: number;
}

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

export function nodeLimits(node: Omit<NodeSize, "template">, template: LocalTemplate | undefined): NodeLimits {
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

/** MiB that a node is expected to take; what is declared is taken at its word. */
export function nodeNeed(node: { readonly ram?: number }, template: LocalTemplate | undefined): number {
  return node.ram ?? template?.vm?.ram ?? template?.need ?? 0;
}
