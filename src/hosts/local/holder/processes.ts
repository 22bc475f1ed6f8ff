import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import { parallel } from "../../../base/parallel.ts";
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

/** Number of processes whose names are read without a pause: some milliseconds. */
const atOnce = 256;
/** Number of command lines that are read at the same time. */
const width = 16;

/**
 * Finds all processes of holders by their command lines, which are the same in every release. A node can imitate such a command line: a caller that
 * kills a process found here then kills only a process of that node.
 */
export async function holderProcesses(): Promise<readonly HolderProcess[]> {
  const found = await parallel(await pidsOfPrograms(), width, holderProcess);
  return found.filter((one) => one !== undefined);
}

/**
 * Returns the processes whose name begins as those of our programs. Names are read synchronously: on a busy machine, thousands of reads one after the other
 * would wait for a processor each. The command line of a process of somebody else is not read, because that waits while the process changes its memory.
 */
async function pidsOfPrograms(): Promise<readonly string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found: string[] = [];
  for (const [index, pid] of pids.entries()) {
    if (index > 0 && index % atOnce === 0) await setImmediate();
    if (nameOf(pid).startsWith("labwright-")) found.push(pid);
  }
  return found;
}

function nameOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return ""; // it has ended
    throw error;
  }
}

async function holderProcess(pid: string): Promise<HolderProcess | undefined> {
  const [name, mark = "", last = ""] = (await readIfThere(`/proc/${pid}/cmdline`)).split("\0");
  const role = roleOf(last.trim());
  if (name !== "labwright-holder" || !mark.startsWith("lab=") || role === undefined) return undefined;
  const stat = await readIfThere(`/proc/${pid}/stat`);
  const [state = "", parent, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (["", "Z", "X"].includes(state)) return undefined;
  return { pid: Number(pid), parent: Number(parent), start: Number(rest[17]), lab: mark.slice("lab=".length), role };
}

function roleOf(text: string): "init" | number | undefined {
  if (text === "init") return "init";
  const node = /^node=(\d+)$/.exec(text)?.[1];
  return node === undefined ? undefined : Number(node);
}
