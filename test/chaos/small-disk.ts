import { spawn } from "node:child_process";
import { once } from "node:events";
import { open, rm, statfs } from "node:fs/promises";
import { join } from "node:path";

/** A file system of a few MiB over a directory, visible only to processes that run `within` its mount namespace. */
export interface SmallDisk extends AsyncDisposable {
  /** Goes before a command line. */
  readonly within: readonly string[];
  /** A path as the namespace has it, as seen from outside. */
  path(inside: string): string;
  /** Fills the file system except for `spare` bytes. */
  fill(spare?: number): Promise<void>;
  /** Gives back what fill took. */
  free(): Promise<void>;
}

/** The directory must exist. */
export async function smallDisk(directory: string, mebibytes: number): Promise<SmallDisk> {
  // Kept by a process, so that the service in it may end and start again.
  const mount = `mount -t tmpfs -o size=${mebibytes}m,mode=0711 small "$1" && echo mounted && exec sleep infinity`;
  const keeper = spawn("unshare", ["--mount", "sh", "-c", mount, "sh", directory], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(keeper, "exit");
  const mounted = await Promise.race([once(keeper.stdout, "data"), ended]);
  if (!String(mounted[0]).includes("mounted")) throw new Error(`no small disk at ${directory}`);
  const path = (inside: string) => join(`/proc/${keeper.pid}/root`, inside);
  const filler = path(join(directory, "filler"));
  return {
    within: ["nsenter", `--mount=/proc/${keeper.pid}/ns/mnt`],
    path,
    fill: async (spare = 0) => {
      const file = await open(filler, "a");
      try {
        for (let size = 1 << 20; size >= 4096; ) {
          const { bavail, bsize } = await statfs(filler);
          if (bavail * bsize - spare < size) {
            size /= 2;
            continue;
          }
          await file.write(Buffer.alloc(size)).catch((error: NodeJS.ErrnoException) => {
            // Somebody else took what was left.
            if (error.code !== "ENOSPC") throw error;
            size /= 2;
          });
        }
      } finally {
        await file.close();
      }
    },
    free: () => rm(filler, { force: true }),
    [Symbol.asyncDispose]: async () => {
      keeper.kill("SIGKILL");
      await ended;
    },
  };
}
