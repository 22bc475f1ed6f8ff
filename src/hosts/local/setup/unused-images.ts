import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { findImages, imageRecords } from "../images.ts";

/** Directory names of builds that a newer one has replaced and that no process has mounted: a running node keeps the one it started on. */
export async function unusedImages(directory: string): Promise<readonly string[]> {
  const current = (await findImages(directory)).flatMap((image) => image.layers);
  const mounted = await mountedPaths();
  return [...(await imageRecords(directory)).keys()].filter((entry) => {
    const rootfs = join(directory, entry, "rootfs");
    return !current.includes(rootfs) && !mounted.some((text) => text.includes(rootfs));
  });
}

/** The mount tables of every mount namespace that a process is in. */
async function mountedPaths(): Promise<readonly string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const tables = await Promise.all(
    pids.map((pid) =>
      readFile(`/proc/${pid}/mountinfo`, "utf8").catch((error: NodeJS.ErrnoException) => {
        // Ended meanwhile, or a process of another user: that one cannot have our trees mounted.
        if (["ENOENT", "ESRCH", "EINVAL", "EACCES", "EPERM"].includes(error.code ?? "")) return "";
        throw error;
      }),
    ),
  );
  return [...new Set(tables)];
}
