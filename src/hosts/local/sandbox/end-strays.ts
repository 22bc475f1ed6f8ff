import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { lives, parseIdentity, readIfThere } from "../holder/identity.ts";
import { type HolderProcess, holderProcesses } from "../holder/processes.ts";

/**
 * Ends holders of these labs that are not in the run directory: it was removed while they ran, so that no service can reach them. Returns the
 * processes after they have ended.
 */
export async function endStrays(run: string, labs: readonly string[]): Promise<readonly HolderProcess[]> {
  const ours = new Set(labs);
  const ended: HolderProcess[] = [];
  const found = (await holderProcesses()).filter(({ role, lab }) => role === "init" && ours.has(lab));
  // A holder's children have its command line until they run another program. The relays of ports never do.
  const labOf = new Map(found.map(({ pid, lab }) => [pid, lab]));
  for (const holder of found) {
    if (labOf.get(holder.parent) === holder.lab) continue;
    const known = parseIdentity(await readIfThere(join(run, holder.lab, "holder.json")));
    if (known?.pid === holder.pid && known.start === holder.start) continue;
    const identity = { ...holder, version: 0 };
    for (let pause = 1; await lives(identity); pause = Math.min(pause * 2, 20)) {
      try {
        process.kill(holder.pid, "SIGKILL");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
      await delay(pause);
    }
    ended.push(holder);
  }
  return ended;
}
