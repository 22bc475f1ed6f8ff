import { readFileSync } from "node:fs";

/** Returns the user and system time of a process so far, ms, in steps of 10 ms. */
export function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1]?.split(" ") ?? [];
  return 10 * (Number(fields[11]) + Number(fields[12]));
}
