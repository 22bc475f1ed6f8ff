import { createWriteStream, statSync } from "node:fs";
import type { Writable } from "node:stream";
import type { Context } from "../command/context.ts";
import { UsageError } from "../command/usage-error.ts";

/** An output for packets: a file, a named pipe, or standard output. */
export interface PacketOutput {
  /** Returns false if the reader has ended, such as a closed Wireshark. */
  write(chunk: Uint8Array): Promise<boolean>;
  readonly gone: boolean;
  onGone(call: () => void): void;
  close(): Promise<void>;
}

/** Throws UsageError for a file with content. A named pipe is allowed. */
export function refuseOverwriting(file: string): void {
  const there = file === "-" ? undefined : statSync(file, { throwIfNoEntry: false });
  if (there?.isFile() === true && there.size > 0)
    throw new UsageError(`${file} exists already and is not overwritten`, "name another file with -w, or remove it first");
}

/** Opens an output. Throws UsageError for a terminal. @param file - is standard output */
export function openPacketOutput(context: Context, file: string): PacketOutput {
  const standard = file === "-";
  if (standard && context.terminal.stdout.isTTY === true)
    throw new UsageError("packets cannot be shown in a terminal", "-w FILE, or pipe into Wireshark");
  const stream: Writable = standard ? context.terminal.stdout : createWriteStream(file);
  let gone = false;
  let failure: Error | undefined;
  const onGone: (() => void)[] = [];
  stream.on("error", (error: NodeJS.ErrnoException) => {
    gone = true;
    if (error.code !== "EPIPE") failure = error;
    for (const call of onGone) call();
  });
  const check = () => {
    if (failure !== undefined) throw new UsageError(`${file}: ${failure.message}`);
  };
  return {
    get gone() {
      return gone;
    },
    onGone: (call) => void onGone.push(call),
    write: async (chunk) => {
      check();
      if (gone || chunk.length === 0) return !gone;
      await new Promise<void>((resolve) => stream.write(chunk, () => resolve()));
      check();
      return !gone;
    },
    close: async () => {
      check();
      if (!standard && !gone) await new Promise<void>((resolve) => stream.end(() => resolve()));
      check();
    },
  };
}
