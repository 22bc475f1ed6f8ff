import { readFileSync } from "node:fs";

/** A connection takes about 32 KiB of memory. */
const maxConnections = 8_192;
/** File descriptors for labs, consoles, files and the database. */
const minReserve = 64;

/** Returns the maximum of open connections. It leaves file descriptors for labs. */
export function defaultMaxConnections(limits = readLimits()): number {
  const files = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
  const reserve = Math.max(minReserve, files / 4);
  return Math.max(1, Math.min(maxConnections, Math.floor(files - reserve)));
}

function readLimits(): string {
  try {
    return readFileSync("/proc/self/limits", "utf8");
  } catch (error) {
    // Systems without this file, such as macOS, use the general maximum.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}
