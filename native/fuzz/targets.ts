import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";

/** The fuzz targets: `native/<program>/fuzz/<name>.c`, with a seed corpus in the directory `<name>` beside it. */

const native = join(import.meta.dirname, "..");

export interface FuzzTarget {
  /** `<program>/<name>`. */
  readonly id: string;
  readonly source: string;
  /** Directory of the seeds. */
  readonly corpus: string;
}

export const fuzzTargets: readonly FuzzTarget[] = globSync(join(native, "*/fuzz/*.c"))
  .sort()
  .map((source) => {
    const name = basename(source, ".c");
    return { id: `${basename(dirname(dirname(source)))}/${name}`, source, corpus: join(dirname(source), name) };
  });

const sanitizers = ["-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-g", "-O1", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all"];

/**
 * Compiles a target to read files (gcc), or as a libFuzzer program (clang). Targets include the units that they test; all get native/common.
 * @param common its sources, or its object files by the same compiler
 */
export async function compileTarget(
  target: FuzzTarget,
  out: string,
  kind: "replay" | "libfuzzer",
  common: readonly string[] = globSync(join(native, "common/*.c")),
): Promise<void> {
  const argv =
    kind === "replay"
      ? ["cc", "-fsanitize=address,undefined", join(native, "fuzz/replay.c")]
      : ["clang", "-fsanitize=fuzzer,address,undefined", "-Wno-gnu-variable-sized-type-not-at-end"];
  const [compiler = "", ...flags] = argv;
  await promisify(execFile)(compiler, [...sanitizers, ...flags, target.source, ...common, "-ljansson", "-o", out]);
}

export function seeds(target: FuzzTarget): readonly string[] {
  return globSync(join(target.corpus, "*")).sort();
}
