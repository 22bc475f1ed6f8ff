import { readFileSync } from "node:fs";

/** A connection takes about 32 KiB. */
const mostAnywhere = 8_192;
/** Descriptors for labs, consoles, files and the database. */
const leastReserve = 64;

/** Connections that the service may have at once: labs must not run out of file descriptors because of clients. */
export function defaultMaxConnections(limits = readLimits()): number {
  const files = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
  const reserve = Math.max(leastReserve, files / 4);
  return Math.max(1, Math.min(mostAnywhere, Math.floor(files - reserve)));
}

function readLimits(): string {
  try {
    return readFileSync("/proc/self/limits", "utf8");
  } catch (error) {
    // Where there is no such file, as on macOS, the general bound counts.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}
