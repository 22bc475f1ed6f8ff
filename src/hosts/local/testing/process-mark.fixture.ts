import { readIfThere } from "../holder/identity.ts";

/** Returns the start time of the process, in clock ticks after boot, "" if there is no process. Together with the pid it identifies a process. */
export async function processStart(pid: number): Promise<string> {
  const stat = await readIfThere(`/proc/${pid}/stat`);
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}

/** Returns whether this process still exists. */
export async function runs(pid: number, start: string): Promise<boolean> {
  return Number.isSafeInteger(pid) && pid > 0 && start !== "" && (await processStart(pid)) === start;
}
