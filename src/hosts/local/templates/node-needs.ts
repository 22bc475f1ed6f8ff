import type { LocalTemplate } from "./template.ts";

/** The fields of a node that determine its resource needs. */
export interface NodeSize {
  readonly template: string;
  readonly cpu?: number;
  readonly ram?: number;
  readonly kernel?: "own";
}

/** The resource needs of a node. */
export interface NodeLimits {
  /** Cores. Absent: all cores of the machine, shared evenly with other nodes. */
  readonly cpu?: number;
  /** MiB, including page cache, tmpfs and the kernel's memory for the node. */
  readonly ram: number;
  /** Processes and threads. */
  readonly processes: number;
  /** MiB. The maximum size of each file; a node whose files together take more is suspended (disk-watch.ts). 0: no limit. */
  readonly disk: number;
}

/** Defaults if neither node nor template has a value: ample for a router or host, small for the machine. */
export const defaultLimits = { ram: 1024, processes: 1024, disk: 4096 } as const;

export function nodeLimits(node: Omit<NodeSize, "template">, template: LocalTemplate | undefined): NodeLimits {
  const given = template?.limits ?? {};
  if (template?.vm !== undefined) {
    // The needs of a hypervisor: the guest's memory and its own memory, including the translated code of a software processor. The guest's CPUs are
    // the CPU limit.
    const guest = node.ram ?? template.vm.ram;
    return { ram: Math.ceil(guest * 1.1) + 1024, processes: given.processes ?? defaultLimits.processes, disk: given.disk ?? 0 };
  }
  return {
    ...(node.cpu === undefined ? {} : { cpu: node.cpu }),
    ram: node.kernel === "own" ? ownKernelRam(node) + hypervisorRam : (node.ram ?? given.ram ?? defaultLimits.ram),
    processes: given.processes ?? defaultLimits.processes,
    disk: given.disk ?? defaultLimits.disk,
  };
}

/** Memory of a node with a kernel of its own, MiB, for its kernel and all its programs. */
export function ownKernelRam(node: { readonly ram?: number }): number {
  return node.ram ?? 256;
}

/** Memory of the hypervisor of such a node, MiB, with the code that it translates if the hardware does not help. */
const hypervisorRam = 256;

/** MiB that the daemons of a lab's VLAN-aware switches are expected to use: one pair for all of them, with about 60 ports. */
export const switchingNeed = 32;

/** Returns the MiB that a node is expected to use: the declared memory, if there is one. */
export function nodeNeed(node: { readonly ram?: number; readonly kernel?: "own" }, template: LocalTemplate | undefined): number {
  if (node.kernel === "own") return ownKernelRam(node);
  return node.ram ?? template?.vm?.ram ?? template?.need ?? 0;
}
