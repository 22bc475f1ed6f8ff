import { createHash } from "node:crypto";
import { chmod, copyFile, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ifThere } from "../../../../files/if-there.ts";
import { packagePath } from "../../../../files/program-path.ts";
import { buildKind, compileProgram, compilerFlags, type ProgramName, programNames, sourceFiles } from "./compile.ts";

/** Programs that a release brings: `<processor>/<name>` as Node names processors, each with the digest of its sources beside it. */
const released = packagePath("prebuilt");

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

/** The path of a program in a directory of prebuilt programs. */
export function prebuiltPath(directory: string, name: ProgramName, processor: string = process.arch): string {
  return join(directory, processor, name);
}

async function isPrebuilt(name: ProgramName, directory: string): Promise<boolean> {
  const path = prebuiltPath(directory, name);
  return (await textOf(`${path}.digest`)) === (await programSources(name)) && (await isThere(path));
}

/** SHA-256 (hex) of the program's sources, the compiler's flags and the processor. */
export async function programSources(name: ProgramName, processor: string = process.arch): Promise<string> {
  const hash = createHash("sha256").update([processor, ...compilerFlags(buildKind())].join("\0"));
  for (const file of await sourceFiles(name)) {
    const path = join(basename(dirname(file)), basename(file));
    hash.update(`\0${path}\0`).update(await readFile(file));
  }
  return hash.digest("hex");
}

async function textOf(path: string): Promise<string | undefined> {
  return ifThere(readFile(path, "utf8"));
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
