import { readdir, readFile } from "node:fs/promises";

/** Returns the mount tables of all mount namespaces with a process. */
export async function mountedPaths(): Promise<readonly string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const tables = await Promise.all(
    pids.map((pid) =>
      readFile(`/proc/${pid}/mountinfo`, "utf8").catch((error: NodeJS.ErrnoException) => {
        // The process has ended, or belongs to another user and cannot have our trees mounted.
        if (["ENOENT", "ESRCH", "EINVAL", "EACCES", "EPERM"].includes(error.code ?? "")) return "";
        throw error;
      }),
    ),
  );
  return [...new Set(tables)];
}
