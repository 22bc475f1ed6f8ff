import { Failure } from "../../../contract/errors.ts";
import { spawnPiped } from "./spawn-piped.ts";

export interface RunResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program of the machine, outside every lab. A program that is not there has code 127. */
export function runOnMachine(argv: readonly string[], stdin: string | Uint8Array = ""): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    const [program, ...rest] = argv;
    const child = spawnPiped(program!, rest);
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") resolve({ code: 127, stdout: "", stderr: `${program}: not found` });
      else reject(error);
    });
    child.on("close", (code, signal) =>
      resolve({ code: code ?? -1, stdout, stderr: signal === null ? stderr : `${stderr}ended by ${signal}` }),
    );
    // A program that ends without reading its input reports that by its exit code.
    child.stdin.on("error", () => undefined);
    child.stdin.end(stdin);
  });
}

/** Returns the result, or throws host_error with the program's error output. */
export function succeeded(argv: readonly string[], result: RunResult): RunResult {
  if (result.code === 0) return result;
  const lines = result.stderr.trim().split("\n");
  const shown = lines.length > maxLines ? [...lines.slice(0, maxLines), `and ${lines.length - maxLines} lines more`] : lines;
  const message = shown.join("\n") || `code ${result.code}`;
  throw new Failure("host_error", `${argv.join(" ")}: ${message}`, { data: { host: { code: result.code, message } } });
}

/** Lines of a program's error output in a failure: a batch may repeat a message for each of its lines. */
const maxLines = 5;
