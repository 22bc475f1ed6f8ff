import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { makeDirectory } from "../../../files/make-directory.ts";

/**
 * Returns a text that changes when all processes of labs have ended for an outside reason: the kernel booted again, the first process is another one (a
 * container was restarted), or the run directory was recreated. Makes the run directory if it is missing.
 */
export async function bootEpoch(run: string): Promise<string> {
  await makeDirectory(run, 0o700);
  const [bootId, init, { ino, birthtimeNs }] = await Promise.all([
    readFile("/proc/sys/kernel/random/boot_id", "utf8"),
    readFile("/proc/1/stat", "utf8"),
    stat(run, { bigint: true }),
  ]);
  const started = init.slice(init.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  return createHash("sha256").update([bootId.trim(), started, ino, birthtimeNs].join(" ")).digest("hex").slice(0, 32);
}
