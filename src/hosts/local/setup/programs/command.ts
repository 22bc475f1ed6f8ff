import { execFile } from "node:child_process";

/** Runs a program of the machine and returns its output. If it fails, throws with the last lines of its output. */
export function command(argv: readonly string[], options: { readonly cwd?: string } = {}): Promise<string> {
  const [program, ...args] = argv;
  if (program === undefined) throw new Error("no program to run");
  const env = { ...process.env, LC_ALL: "C", DEBIAN_FRONTEND: "noninteractive" };
  return new Promise((resolve, reject) => {
    execFile(program, args, { ...options, env, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      const said = `${stdout}\n${stderr}`.split("\n").filter((line) => line.trim() !== "");
      reject(
        new Error([`${argv.slice(0, 6).join(" ")} failed (${error.code ?? error.signal})`, ...said.slice(-8)].join("\n  "), {
          cause: error,
        }),
      );
    });
  });
}
