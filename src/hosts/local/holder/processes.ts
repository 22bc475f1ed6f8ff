import { readdir } from "node:fs/promises";
import { readIfThere } from "./identity.ts";

/** A process of a holder in the machine's process table. */
export interface HolderProcess {
  readonly pid: number;
  readonly parent: number;
  /** Clock ticks after boot. */
  readonly start: number;
  readonly lab: string;
  /** The lab's init, or the id of the node whose init it is. */
  readonly role: "init" | number;
}

/**
 * Finds all processes of holders by their command lines, which are the same in every release. A node can imitate such a command line: a caller that
 * kills a process found here then kills only a process of that node.
 */
export async function holderProcesses(): Promise<readonly HolderProcess[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found: HolderProcess[] = [];
  for (const pid of pids) {
    const [name, mark = "", last = ""] = (await readIfThere(`/proc/${pid}/cmdline`)).split("\0");
    const role = roleOf(last.trim());
    if (name !== "labwright-holder" || !mark.startsWith("lab=") || role === undefined) continue;
    const stat = await readIfThere(`/proc/${pid}/stat`);
    const [state = "", parent, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (["", "Z", "X"].includes(state)) continue;
    found.push({ pid: Number(pid), parent: Number(parent), start: Number(rest[17]), lab: mark.slice("lab=".length), role });
  }
  return found;
}

function roleOf(text: string): "init" | number | undefined {
  if (text === "init") return "init";
  const node = /^node=(\d+)$/.exec(text)?.[1];
  return node === undefined ? undefined : Number(node);
}
