import { execFile, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { compileTarget, type FuzzTarget, fuzzTargets } from "./targets.ts";

/**
 * Runs libFuzzer on each parser in C, as many at a time as there are processors. An input that ends a parser becomes one of its seeds, so that
 * `npm test` fails until the parser is repaired. Returns a message for each parser that failed. Throws an Error if clang is missing.
 */
export async function fuzzParsers(secondsEach: number): Promise<readonly string[]> {
  if (spawnSync("clang", ["--version"]).error !== undefined)
    throw new Error("the parsers in C are fuzzed with clang, which is missing: as root, apt-get install clang libclang-rt-14-dev");
  const work = await mkdtemp(join(tmpdir(), "labwright-fuzz-"));
  const waiting = [...fuzzTargets];
  const failures: string[] = [];
  const worker = async (): Promise<void> => {
    for (let target = waiting.shift(); target !== undefined; target = waiting.shift()) {
      const failure = await fuzzParser(target, work, secondsEach);
      if (failure !== undefined) failures.push(failure);
    }
  };
  try {
    await Promise.all(Array.from({ length: availableParallelism() }, worker));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return failures;
}

async function fuzzParser(target: FuzzTarget, work: string, seconds: number): Promise<string | undefined> {
  const program = join(work, target.id.replace("/", "-"));
  const found = `${program}-found`;
  await mkdir(found);
  try {
    await compileTarget(target, program, "libfuzzer");
    const limits = [
      `-max_total_time=${seconds}`,
      "-timeout=30",
      "-report_slow_units=600",
      "-rss_limit_mb=1024",
      "-max_len=65536",
      "-print_final_stats=1",
    ];
    const { stderr } = await promisify(execFile)(program, [...limits, `-artifact_prefix=${target.corpus}/`, found, target.corpus], {
      maxBuffer: 1 << 28,
    });
    console.log(`${target.id}: ${/number_of_executed_units: (\d+)/.exec(stderr)?.[1]} inputs in ${seconds} s`);
    return undefined;
  } catch (error) {
    const { stderr = "", message } = error as Error & { readonly stderr?: string };
    return `${target.id}: ${stderr.split("\n").slice(-60).join("\n") || message}`;
  }
}
