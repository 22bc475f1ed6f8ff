import type { LocalTemplate } from "./template.ts";

/** The fields of a node that determine its resource needs. */
export interface NodeSize {
  readonly template: string;
  readonly cpu?: number;
  readonly ram?: number;
}

/** The resource needs of a node. */
export interface NodeLimits {
  /** Cores. Absent: all cores of the machine, shared evenly with other nodes. */
  readonly cpu?: number;
  /** MiB, with page cache, tmpfs and what the kernel keeps for it. */
  readonly ram: number;
  /** Processes and threads. */
  readonly processes: number;
  /** MiB; no file of its disk becomes larger, and it is suspended when all of them together take more (disk-watch.ts). 0: no limit. */
  readonly disk: number;
}

/** Defaults if neither node nor template has a value: ample for a router or a host, small compared with a machine. */
export const defaultLimits = { ram: 1024, processes: 1024, disk: 4096 } as const;

export function nodeLimits(node: Omit<NodeSize, "template">, template: LocalTemplate | undefined): NodeLimits {
  const given = template?.limits ?? {};
  if (template?.vm !== undefined) {
    // The need of its hypervisor: the guest's memory and its own, with the code that a software processor translates. The guest's CPUs are its limit.
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
