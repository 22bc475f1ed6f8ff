import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { compilerFlags } from "../src/hosts/local/setup/programs/compile.ts";

/** Compiles native/common with sanitizers into the directory. Returns the object files: compiling them takes most of the time of a small test program. */
export async function sanitizedCommon(directory: string): Promise<readonly string[]> {
  await mkdir(directory);
  const sources = globSync(join(import.meta.dirname, "common/*.c"));
  const flags = compilerFlags("sanitized").filter((flag) => !flag.startsWith("-static"));
  await promisify(execFile)("cc", [...flags, "-c", ...sources], { cwd: directory });
  return globSync(join(directory, "*.o"));
}
