import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const source = fileURLToPath(new URL("../holder/holder.c", import.meta.url));
const flags = ["-O2", "-static", "-s", "-Wall", "-Wextra", "-Werror"];

/**
 * Compiles the holder to `out` with the machine's cc, unless it is there already, made of this very source. The digest lies beside
 * it in `<out>.digest`. Running labs keep the program that they run. Throws an Error with the compiler's words.
 */
export async function buildHolder({ out }: { readonly out: string }): Promise<{ readonly built: boolean }> {
  const digest = createHash("sha256")
    .update(flags.join(" "))
    .update("\0")
    .update(process.arch)
    .update(await readFile(source))
    .digest("hex");
  if ((await textOf(`${out}.digest`)) === digest && (await isThere(out))) return { built: false };
  await mkdir(dirname(out), { recursive: true });
  const fresh = `${out}.${process.pid}.new`;
  try {
    await promisify(execFile)("cc", [...flags, "-o", fresh, source]);
    await rename(fresh, out);
  } catch (error) {
    const { stderr = "", message } = error as Error & { readonly stderr?: string };
    throw new Error(`the holder does not compile (Debian: apt-get install gcc libc6-dev): ${stderr || message}`, { cause: error });
  } finally {
    await rm(fresh, { force: true });
  }
  await writeFile(`${out}.digest`, digest);
  return { built: true };
}

async function textOf(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch((error: NodeJS.ErrnoException) => (error.code === "ENOENT" ? null : Promise.reject(error)))) !== null;
}
