import type { RemoteEnd, RemoteProcess } from "../../client/index.ts";
import type { Context } from "../command/context.ts";
import { Escape } from "./escape.ts";

/** Copies bytes in both directions until the program ends or the user leaves. Always restores the terminal. Returns undefined if the user left. */
export async function talk(
  { terminal: { stdin, stdout, stderr } }: Context,
  program: RemoteProcess,
  interactive: boolean,
): Promise<RemoteEnd | undefined> {
  const typed = new Escape();
  let left = false;
  const type = (chunk: Buffer) => {
    const { send, leave } = interactive ? typed.take(chunk) : { send: chunk, leave: false };
    stdin.pause();
    void program.write(send).then(() => stdin.resume());
    if (!leave) return;
    left = true;
    program[Symbol.dispose]();
  };
  const resized = () => program.resize(...sizeOf(stdout));
  const end = () => program.endInput();
  if (interactive) {
    stdin.setRawMode?.(true);
    stdout.on("resize", resized);
  }
  stdin.on("data", type).on("end", end);
  try {
    for await (const item of program) {
      if (item.stream === "end") return item;
      const output = item.stream === "stderr" ? stderr : stdout;
      if (!output.write(item.data)) await new Promise((resolve) => output.once("drain", resolve));
    }
    return undefined;
  } catch (error) {
    if (left) return undefined;
    throw error;
  } finally {
    if (interactive) stdin.setRawMode?.(false);
    stdout.off("resize", resized);
    stdin.off("data", type).off("end", end).pause();
    program[Symbol.dispose]();
  }
}

/** Returns columns and rows. A terminal that has not got a size yet, as in a script, reports 0. */
export function sizeOf({ columns, rows }: { readonly columns?: number; readonly rows?: number }): [number, number] {
  return [columns || 80, rows || 24];
}
