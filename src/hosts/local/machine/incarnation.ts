import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { makeDirectory } from "../../../files/make-directory.ts";

/**
 * A text that changes when everything that ran here is gone through no fault of a lab: another boot of the kernel, another first process
 * (of a container that was started anew), another run directory. Makes the run directory where it is missing.
 */
export async function incarnation(run: string): Promise<string> {
  await makeDirectory(run, 0o700);
  const [bootId, init, { ino, birthtimeNs }] = await Promise.all([
    readFile("/proc/sys/kernel/random/boot_id", "utf8"),
    readFile("/proc/1/stat", "utf8"),
    stat(run, { bigint: true }),
  ]);
  const started = init.slice(init.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  return createHash("sha256").update([bootId.trim(), started, ino, birthtimeNs].join(" ")).digest("hex").slice(0, 32);
}
