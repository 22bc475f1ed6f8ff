import { spawnSync } from "node:child_process";

interface RunOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Exit codes that are no failure; default: 0. */
  readonly codes?: readonly number[];
}

/** Runs a program to its end; returns its exit code and output. Throws with the end of its output for any other exit code. */
export function run(
  argv: readonly string[],
  { cwd, env, codes = [0] }: RunOptions = {},
): { readonly code: number; readonly stdout: string; readonly stderr: string } {
  const [program = "", ...args] = argv;
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, env, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  if (error !== undefined) throw error;
  if (status === null || !codes.includes(status)) {
    const end = `${stdout}${stderr}`.trimEnd().split("\n").slice(-30).join("\n");
    throw new Error(`${argv.join(" ")} ended with ${status}\n${end}`);
  }
  return { code: status, stdout, stderr };
}
