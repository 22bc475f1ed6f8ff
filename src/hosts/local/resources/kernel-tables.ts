import { readFileSync, writeFileSync } from "node:fs";
import { totalmem } from "node:os";

/** A kernel setting that limits a table shared by all labs and the machine. */
interface KernelTable {
  /** Path below /proc/sys. */
  readonly setting: string;
  readonly wanted: number;
}

/**
 * Returns sizes for the shared tables that fit many nodes, and that a single node cannot fill. A neighbour entry takes about 512 bytes; the neighbour
 * tables of IPv4 and IPv6 together take at most a sixteenth of the machine's memory. @param memory bytes
 */
export function kernelTables(memory: number): readonly KernelTable[] {
  const most = Math.min(2 ** 20, Math.max(2 ** 14, 2 ** Math.floor(Math.log2(memory / (16 * 1024)))));
  const neighbours = ["ipv4", "ipv6"].flatMap((family) => {
    const at = `net/${family}/neigh/default`;
    // The largest threshold first: the kernel collects entries above the middle threshold.
    return [
      { setting: `${at}/gc_thresh3`, wanted: most },
      { setting: `${at}/gc_thresh2`, wanted: most / 2 },
      { setting: `${at}/gc_thresh1`, wanted: most / 8 },
    ];
  });
  return [
    ...neighbours,
    // Each node has a terminal, and may open 63 more.
    { setting: "kernel/pty/max", wanted: 2 ** 16 },
    // Not the effective limit: a node's memory limit includes its open files and is reached much earlier.
    { setting: "fs/file-max", wanted: 2 ** 40 },
  ];
}

/**
 * Raises the limits of the machine's shared kernel tables if labs need more. Never lowers a limit. Needs root. Returns one line for each setting that
 * was changed, or could not be changed.
 * @param sys another directory than /proc/sys
 */
export function raiseKernelTables(memory: number = totalmem(), sys = "/proc/sys"): readonly string[] {
  return kernelTables(memory).flatMap(({ setting, wanted }) => {
    const name = setting.replaceAll("/", ".");
    try {
      const now = Number(readFileSync(`${sys}/${setting}`, "utf8"));
      if (now >= wanted) return [];
      writeFileSync(`${sys}/${setting}`, String(wanted));
      return [`${name} raised from ${now} to ${wanted}: all labs share this table of the kernel`];
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === "ENOENT") return []; // a kernel without IPv6
      return [`${name} could not be raised to ${wanted}, so one node can fill a table that all labs share: ${message}`];
    }
  });
}
