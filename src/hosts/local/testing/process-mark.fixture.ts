import { readIfThere } from "../holder/identity.ts";

/** Clock ticks after boot at which the process started; "" if there is none. Together with the pid it identifies a process. */
export async function processStart(pid: number): Promise<string> {
  const stat = await readIfThere(`/proc/${pid}/stat`);
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}

/** Whether that very process is there. */
export async function runs(pid: number, start: string): Promise<boolean> {
  return Number.isSafeInteger(pid) && pid > 0 && start !== "" && (await processStart(pid)) === start;
}
