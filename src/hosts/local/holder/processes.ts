import { readdir } from "node:fs/promises";
import { readIfThere } from "./identity.ts";

/** A process of a holder, as the machine's process table shows it. */
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
 * All of them, by their command lines, which every release writes alike. A node can give a process of its own such a command line: who
 * ends one by it ends no more than that process.
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
