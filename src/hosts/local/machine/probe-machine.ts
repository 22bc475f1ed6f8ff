import { type RunResult, runOnMachine } from "./machine.ts";

const results = new Map<string, Promise<RunResult>>();

/**
 * Runs a program that finds out what the machine can do. A process runs the same one once, and all hosts that it opens get the result: to start a program, the
 * kernel copies the tables of this process's memory, which takes up to 50 ms.
 */
export function probeMachine(argv: readonly string[]): Promise<RunResult> {
  const key = JSON.stringify([process.env["PATH"], argv]);
  const known = results.get(key);
  if (known !== undefined) return known;
  const result = runOnMachine(argv);
  results.set(key, result);
  // The program did not run: the next host tries again.
  result.catch(() => results.delete(key));
  return result;
}
