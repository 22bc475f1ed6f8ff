import { readFileSync } from "node:fs";

/** Reads of /proc are synchronous: each takes microseconds, and an asynchronous one waits for a thread. */

/** A child of a node's init, by the machine's process table. */
export interface Daemon {
  readonly name: string;
  readonly pid: number;
  /** Clock ticks after boot. With the pid it identifies the process. */
  readonly start: string;
}

/** Returns node → pid of its init on the machine, for the nodes of a holder. */
export function nodeInits(holder: number): ReadonlyMap<number, number> {
  return new Map(
    childrenOf(holder).flatMap((pid) => {
      const node = /(?:^|\0)node=(\d+)[\0 ]*$/.exec(read(`/proc/${pid}/cmdline`))?.[1];
      return node === undefined ? [] : [[Number(node), pid] as const];
    }),
  );
}

/** Returns the children of an init with these names. Daemons are children of the init, because they leave the shell that starts them. */
export function daemonsOf(init: number, names: ReadonlySet<string>): readonly Daemon[] {
  return childrenOf(init).flatMap((pid) => {
    const { name, state, start } = statOf(pid);
    return names.has(name) && !isEnded(state) ? [{ name, pid, start }] : [];
  });
}

export function isRunning({ pid, start }: Daemon): boolean {
  const now = statOf(pid);
  return now.start === start && !isEnded(now.state);
}

function statOf(pid: number): { readonly name: string; readonly state: string; readonly start: string } {
  const stat = read(`/proc/${pid}/stat`);
  const end = stat.lastIndexOf(")");
  const fields = stat.slice(end + 2).split(" ");
  return { name: stat.slice(stat.indexOf("(") + 1, end), state: fields[0] ?? "", start: fields[19] ?? "" };
}

function isEnded(state: string): boolean {
  return ["", "Z", "X"].includes(state);
}

function childrenOf(pid: number): readonly number[] {
  return read(`/proc/${pid}/task/${pid}/children`)
    .split(" ")
    .filter((one) => one !== "")
    .map(Number);
}

/** Returns "" for a process that has ended, and for a kernel that has no such file. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
