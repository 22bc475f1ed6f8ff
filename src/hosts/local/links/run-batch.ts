import { succeeded } from "../machine/machine.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";

/** Runs a program of the machine in the fabric with these lines; no process where there are none. Throws host_error with its words. */
export async function runBatch(sandbox: Pick<Sandbox, "run">, argv: readonly string[], lines: string): Promise<void> {
  if (lines !== "") succeeded(argv, await sandbox.run(argv, lines));
}
