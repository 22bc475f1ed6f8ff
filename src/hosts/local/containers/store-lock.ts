import { link, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { processStart, runs } from "../process-mark.ts";
import { ArchiveError } from "./archive-error.ts";

const name = ".lock";

/** One change of the image directory at a time, over all processes; that of a process that is gone does not count. Throws ArchiveError busy. */
export async function lockImages(directory: string): Promise<AsyncDisposable> {
  const path = join(directory, name);
  const mine = `${process.pid} ${await processStart(process.pid)}\n`;
  for (let tries = 0; ; tries++) {
    // Linked when it is written: nobody sees an empty one.
    const fresh = `${path}-${process.pid}`;
    try {
      await writeFile(fresh, mine, { mode: 0o600 });
      await link(fresh, path);
      return { [Symbol.asyncDispose]: () => rm(path, { force: true }) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    } finally {
      await rm(fresh, { force: true });
    }
    const holder = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return "";
      throw error;
    });
    const [pid = "", start = ""] = holder.trim().split(" ");
    if (tries > 2 || (await runs(Number(pid), start))) {
      throw new ArchiveError("busy", `process ${pid} is adding or removing an image`, "try again when it is done");
    }
    await rm(path, { force: true });
  }
}
