import { type ChildProcessWithoutNullStreams, type SpawnOptionsWithoutStdio, spawn } from "node:child_process";
import { noDescriptors } from "./machine-trouble.ts";

/** Starts a program with pipes to its input and output. Throws overloaded if this process has no file descriptors left for them. */
export function spawnPiped(
  program: string,
  argv: readonly string[],
  options: Omit<SpawnOptionsWithoutStdio, "stdio"> = {},
): ChildProcessWithoutNullStreams {
  const child = spawn(program, argv, options);
  // Without descriptors Node makes no streams, and emits the error later: unheard, it would end this process.
  if (child.stdout === undefined) {
    child.once("error", () => undefined);
    throw noDescriptors("EMFILE");
  }
  return child;
}
