import { Failure } from "../../contract/errors.ts";
import type { HostProcesses, ProcessEnd } from "../../hosts/host-processes.ts";
import type { ProgramEnd } from "./check-program.ts";

/** Maximum output of a check's program, bytes. */
const maxOutputBytes = 1024 * 1024;

/** Runs a program in a node to its end. Throws host_error for a program that prints more than 1 MiB, and as HostProcesses.start. */
export async function runProgram(
  processes: HostProcesses,
  place: { readonly lab: string; readonly nodeId: string },
  program: { readonly argv: readonly string[]; readonly timeoutMs: number },
  signal: AbortSignal,
): Promise<ProgramEnd> {
  const running = await processes.start(place.lab, place.nodeId, program, signal);
  running.endInput();
  const output: Record<"stdout" | "stderr", Buffer[]> = { stdout: [], stderr: [] };
  let size = 0;
  // Leaving the loop ends the program.
  for await (const part of running.output) {
    if (part.stream === "end") {
      const text = (stream: "stdout" | "stderr") => Buffer.concat(output[stream]).toString("utf8");
      return { code: exitCode(part), stdout: text("stdout"), stderr: text("stderr"), timedOut: part.reason === "timeout" };
    }
    size += part.data.length;
    if (size > maxOutputBytes)
      throw new Failure(
        "host_error",
        `${program.argv[0]} printed more than 1 MiB, the limit of a check, and was ended: print less, for example with | tail or | grep -c`,
      );
    output[part.stream].push(part.data);
  }
  throw new Failure("host_error", `${program.argv[0]}: the host did not report its end`);
}

/** As a shell does: 128 and the number of the signal that ended the program. */
function exitCode({ exitCode: code, signal, reason }: ProcessEnd): number | null {
  if (reason === "timeout") return null;
  return code ?? (signal === undefined ? null : 128 + signal);
}
