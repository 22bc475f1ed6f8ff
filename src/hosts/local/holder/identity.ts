import { readFile } from "node:fs/promises";

/** The identity of a holder, as in holder.json. A pid alone is not enough, because the kernel reuses pids. */
export interface Identity {
  readonly lab: string;
  /** As the machine sees it. */
  readonly pid: number;
  /** Clock ticks after boot. */
  readonly start: number;
  readonly version: number;
  /** Why the lab has no id range of its own. Absent if it has one, or if none was requested. */
  readonly shared?: string;
}

export function parseIdentity(text: string): Identity | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return null;
    const { lab, pid, start, version, shared } = value as Record<string, unknown>;
    if (typeof lab !== "string" || typeof pid !== "number" || typeof start !== "number" || typeof version !== "number") return null;
    return { lab, pid, start, version, ...(typeof shared === "string" && shared !== "" ? { shared } : {}) };
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Returns whether this process (pid and start time) still runs. A zombie does not. */
export async function lives(identity: Identity): Promise<boolean> {
  const stat = await readIfThere(`/proc/${identity.pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[19] === String(identity.start) && !["Z", "X"].includes(fields[0] ?? "");
}

/** Returns a file's text, "" if there is no file. Below /proc also "" if the process has just ended. */
export async function readIfThere(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return "";
    throw error;
  }
}
