import { Failure } from "../../../contract/errors.ts";
import { succeeded } from "../machine/machine.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";

/** The arguments of a capture's process. */
export interface CaptureProcess {
  /** Also on the command line of the process, so that a later run of the service recognizes it. */
  readonly id: string;
  /** The directory it writes to; the lab's root owns it. */
  readonly directory: string;
  /** Further arguments of the tap. */
  readonly arguments: readonly string[];
}

/** A shell script that prints the marks of the processes that run. Arguments: pid, mark, pid, mark … */
const look = 'while [ $# -gt 1 ]; do grep -qzxF -- "$2" "/proc/$1/cmdline" 2> /dev/null && echo "$2"; shift 2; done; true';

/**
 * Starts the process in the fabric, as root of the lab only. Resolves with its pid in the lab once it captures packets. Throws link_not_found
 * if the device does not exist, host_error with the message of the tap.
 */
export async function startCaptureProcess(sandbox: Pick<Sandbox, "run">, tap: string, process: CaptureProcess): Promise<number> {
  const argv = [tap, markOf(process.id), `dir=${process.directory}`, ...process.arguments];
  const { code, stdout, stderr } = await sandbox.run(argv);
  if (code === goneCode) throw new Failure("link_not_found", "the interface has no port in the lab now");
  const pid = Number(stdout);
  if (code === 0 && Number.isInteger(pid) && pid > 1) return pid;
  const words = stderr.trim() || `code ${code}`;
  throw new Failure("host_error", `the capture did not start: ${words}`, { data: { host: { code, message: words } } });
}

const goneCode = 3;

/** Returns the captures whose processes run. Also compares the mark, because the kernel reuses pids. */
export async function livingCaptures(
  sandbox: Pick<Sandbox, "run">,
  processes: readonly { readonly id: string; readonly pid: number }[],
): Promise<ReadonlySet<string>> {
  if (processes.length === 0) return new Set();
  const pairs = processes.flatMap(({ id, pid }) => [String(pid), markOf(id)]);
  const { stdout } = succeeded(["look for captures"], await sandbox.run(["sh", "-c", look, "labwright-look", ...pairs]));
  const marks = new Set(stdout.split("\n"));
  return new Set(processes.map(({ id }) => id).filter((id) => marks.has(markOf(id))));
}

/** Argument: the id. The script builds the pattern itself, so that the shell's own command line does not match it. */
const endByMark =
  'cd /proc && for pid in [0-9]*; do grep -qzxF -- "capture=$1" "$pid/cmdline" 2> /dev/null && kill -s KILL "$pid" 2> /dev/null; done; true';

/** Kills the process of a capture whose start was interrupted. Its pid is unknown, so the process is found by its mark. */
export async function endUnknownCapture(sandbox: Pick<Sandbox, "run">, id: string): Promise<void> {
  succeeded(["end a capture"], await sandbox.run(["sh", "-c", endByMark, "labwright-end", id]));
}

/** Sends a signal to the process. At SIGTERM it writes its buffered packets and ends; SIGKILL loses them. */
export async function signalCapture(sandbox: Pick<Sandbox, "run">, pid: number, signal: "TERM" | "KILL"): Promise<void> {
  // It is not an error if the process has just ended.
  await sandbox.run(["sh", "-c", `kill -s ${signal} "$1" 2> /dev/null; true`, "labwright-kill", String(pid)]);
}

function markOf(id: string): string {
  return `capture=${id}`;
}
