import type { LabwrightClient } from "../../client/index.ts";
import { PacketLimit } from "../../packets/pcapng-blocks.ts";
import type { ExitCode } from "../command/command.ts";
import type { Context } from "../command/context.ts";
import { UsageError } from "../command/usage-error.ts";
import { bytes } from "../show/table.ts";
import { openPacketOutput } from "./packet-output.ts";

export interface Followed {
  readonly id: string;
  readonly name: string;
  readonly file: string;
  readonly count?: number;
  readonly duration?: number;
  /** Prints no notes: Wireshark would show them as errors. */
  readonly quiet?: boolean;
}

/** Writes the packets of a capture until a signal, a limit, the end of the capture, or the end of the reader. Then removes the capture. */
export async function followCapture(
  context: Context,
  client: LabwrightClient,
  { id, name, file, count, duration, quiet = false }: Followed,
): Promise<ExitCode> {
  const limit = new PacketLimit(count);
  let size = 0;
  let dropped = 0;
  let asked = false;
  const abort = new AbortController();
  // The first call stops the capture: the host sends its remaining packets and ends the stream. The second call cuts the stream.
  const stop = () => {
    if (asked) abort.abort();
    asked = true;
    client.stopCapture({ id }).catch(() => abort.abort());
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, stop);
  const timer = duration === undefined ? undefined : setTimeout(stop, duration * 1000);
  const out = openPacketOutput(context, file);
  try {
    const connection = await client.openCapture({ id }, { signal: abort.signal });
    abort.signal.addEventListener("abort", () => connection.destroy(), { once: true });
    out.onGone(() => connection.destroy());
    if (!quiet) context.terminal.note(`capturing ${name}; Ctrl-C ends it`);
    try {
      for await (const chunk of connection as AsyncIterable<Buffer>) {
        const taken = limit.take(chunk);
        size += taken.length;
        if (!(await out.write(taken)) || limit.reached) break;
      }
    } catch (error) {
      if (!asked && !out.gone) throw new UsageError(`the connection to the capture was lost: ${(error as Error).message}`);
    }
    await out.close();
    dropped = (await client.getCapture({ id })).dropped ?? 0;
  } finally {
    clearTimeout(timer);
    for (const signal of signals) process.off(signal, stop);
    await client.removeCapture({ id });
  }
  if (!quiet) context.terminal.note(`${limit.packets} packets, ${bytes(size)}`);
  if (dropped > 0) context.terminal.note(`${dropped} more were lost: the machine of the service was too busy`);
  return 0;
}
