import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** Shipped as sources, also beside a compiled package. */
const sources = new URL("../../../../src/hosts/local/", import.meta.url);
const flags = ["-O2", "-static", "-s", "-Wall", "-Wextra", "-Werror"];

/** The C programs of the embedded host, each a folder of sources. */
export type ProgramName = "decoder" | "holder" | "shaper" | "tap" | "vm/supervisor";

/**
 * Compiles the program to `out` with the machine's cc, unless it is there already, made of these very sources. The digest lies
 * beside it in `<out>.digest`. Running labs keep the program that they run. Throws an Error with the compiler's words.
 */
export async function buildProgram(name: ProgramName, { out }: { readonly out: string }): Promise<{ readonly built: boolean }> {
  const digest = await programSources(name);
  if ((await textOf(`${out}.digest`)) === digest && (await isThere(out))) return { built: false };
  await mkdir(dirname(out), { recursive: true });
  const fresh = `${out}.${process.pid}.new`;
  const folder = fileURLToPath(new URL(name, sources));
  const units = (await sourceFiles(folder)).filter((file) => file.endsWith(".c")).map((file) => join(folder, file));
  try {
    await promisify(execFile)("cc", [...flags, "-o", fresh, ...units]);
    await rename(fresh, out);
  } catch (error) {
    const { stderr = "", message } = error as Error & { readonly stderr?: string };
    throw new Error(`the ${name} does not compile (Debian: apt-get install gcc libc6-dev): ${stderr || message}`, { cause: error });
  } finally {
    await rm(fresh, { force: true });
  }
  await writeFile(`${out}.digest`, digest);
  return { built: true };
}

/** SHA-256 (hex) of what the program is made of. */
export async function programSources(name: ProgramName): Promise<string> {
  const folder = fileURLToPath(new URL(name, sources));
  const hash = createHash("sha256").update([process.arch, ...flags].join("\0"));
  for (const file of await sourceFiles(folder)) hash.update(`\0${file}\0`).update(await readFile(join(folder, file)));
  return hash.digest("hex");
}

async function sourceFiles(folder: string): Promise<readonly string[]> {
  return (await readdir(folder)).filter((file) => /\.[ch]$/.test(file)).sort();
}

async function textOf(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
}
