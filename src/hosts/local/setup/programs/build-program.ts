import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, copyFile, mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** Shipped as sources, also beside a compiled package. */
const sources = new URL("../../../../../src/hosts/local/", import.meta.url);
const flags = ["-O2", "-static", "-s", "-Wall", "-Wextra", "-Werror"];

/** Programs that a release brings: `<processor>/<name>` as Node names processors, each with the digest of its sources beside it. */
const released = fileURLToPath(new URL("../../../../../prebuilt/", import.meta.url));

/** The C programs of the embedded host, each a folder of sources. */
export const programNames = ["decoder", "holder", "shaper", "tap", "vm/supervisor"] as const;
export type ProgramName = (typeof programNames)[number];

interface BuildOptions {
  readonly out: string;
  /** Directory of prebuilt programs; default: that of the release. */
  readonly prebuilt?: string;
}

/**
 * Puts the program at `out`, unless it is there already, made of these very sources: a prebuilt one if the release has one of these sources, else one
 * compiled with the machine's cc. The digest lies beside it in `<out>.digest`. Running labs keep the program that they run. Throws an Error with the
 * compiler's output.
 */
export async function buildProgram(name: ProgramName, { out, prebuilt = released }: BuildOptions): Promise<{ readonly built: boolean }> {
  const digest = await programSources(name);
  if ((await textOf(`${out}.digest`)) === digest && (await isThere(out))) return { built: false };
  await mkdir(dirname(out), { recursive: true });
  const fresh = `${out}.${process.pid}.new`;
  try {
    if (await isPrebuilt(name, prebuilt)) {
      await copyFile(prebuiltPath(prebuilt, name), fresh);
      await chmod(fresh, 0o755);
    } else await compileProgram(name, { out: fresh, compiler: "cc" });
    await rename(fresh, out);
  } finally {
    await rm(fresh, { force: true });
  }
  await writeFile(`${out}.digest`, digest);
  return { built: true };
}

/** Whether set-up has to compile a program: the release brings none that is made of these sources for this processor. */
export async function needsCompiler(prebuilt: string = released): Promise<boolean> {
  const found = await Promise.all(programNames.map((name) => isPrebuilt(name, prebuilt)));
  return found.includes(false);
}

/** Compiles the program to `out`, static, for the processor of the compiler. Throws an Error with the compiler's output. */
export async function compileProgram(
  name: ProgramName,
  { out, compiler }: { readonly out: string; readonly compiler: string },
): Promise<void> {
  const folder = fileURLToPath(new URL(name, sources));
  const units = (await sourceFiles(folder)).filter((file) => file.endsWith(".c")).map((file) => join(folder, file));
  try {
    await promisify(execFile)(compiler, [...flags, "-o", out, ...units]);
  } catch (error) {
    const { stderr = "", message } = error as Error & { readonly stderr?: string };
    const hint = compiler === "cc" ? " (Debian: apt-get install gcc libc6-dev)" : "";
    throw new Error(`the ${name} does not compile${hint}: ${stderr || message}`, { cause: error });
  }
}

/** Where a program lies in a directory of prebuilt programs. */
export function prebuiltPath(directory: string, name: ProgramName, processor: string = process.arch): string {
  return join(directory, processor, name.replaceAll("/", "-"));
}

async function isPrebuilt(name: ProgramName, directory: string): Promise<boolean> {
  const path = prebuiltPath(directory, name);
  return (await textOf(`${path}.digest`)) === (await programSources(name)) && (await isThere(path));
}

/** SHA-256 (hex) of the program's sources, the compiler's flags and the processor. */
export async function programSources(name: ProgramName, processor: string = process.arch): Promise<string> {
  const folder = fileURLToPath(new URL(name, sources));
  const hash = createHash("sha256").update([processor, ...flags].join("\0"));
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
