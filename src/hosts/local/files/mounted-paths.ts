import { readdir, readFile } from "node:fs/promises";

/** The mount tables of every mount namespace that a process is in. */
export async function mountedPaths(): Promise<readonly string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const tables = await Promise.all(
    pids.map((pid) =>
      readFile(`/proc/${pid}/mountinfo`, "utf8").catch((error: NodeJS.ErrnoException) => {
        // It has ended, or belongs to another user and cannot have our trees mounted.
        if (["ENOENT", "ESRCH", "EINVAL", "EACCES", "EPERM"].includes(error.code ?? "")) return "";
        throw error;
      }),
    ),
  );
  return [...new Set(tables)];
}
