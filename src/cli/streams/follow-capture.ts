import { setTimeout as pause } from "node:timers/promises";
import { type LabwrightClient, LabwrightError, type ResultOf } from "../../client/index.ts";
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

type CaptureInfo = ResultOf<"getCapture">;

/** A service that restarts answers again within this time, ms. */
const restartMs = 60_000;

/**
 * Writes the packets of a capture until a signal, a limit, the end of the capture, or the end of the reader. Then removes the capture; it waits for a service that has just ended,
 * because the capture goes on without it.
 */
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
  let broken: string | undefined;
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
      if (!asked && !out.gone) broken = `the connection to the capture was lost: ${(error as Error).message}`;
    }
    await out.close();
  } finally {
    clearTimeout(timer);
    for (const signal of signals) process.off(signal, stop);
    const capture = await removed(context, client, id);
    dropped = capture?.dropped ?? 0;
    if (capture?.status === "running" && !asked && !limit.reached && !out.gone) broken ??= "the service ended before the capture";
  }
  if (broken !== undefined) throw new UsageError(broken, `${file} has ${limit.packets} packets from before`);
  if (!quiet) context.terminal.note(`${limit.packets} packets, ${bytes(size)}`);
  if (dropped > 0) context.terminal.note(`${dropped} more were lost: the machine of the service was too busy`);
  return 0;
}

/** Removes the capture. Returns it as it was before; undefined: somebody else has removed it, or its lab. */
async function removed(context: Context, client: LabwrightClient, id: string): Promise<CaptureInfo | undefined> {
  const until = Date.now() + restartMs;
  const remove = `labwright capture --remove ${id}`;
  for (let isTold = false; ; isTold = true) {
    try {
      const capture = await client.getCapture({ id });
      await client.removeCapture({ id });
      return capture;
    } catch (error) {
      if (!(error instanceof LabwrightError)) throw error;
      if (error.code === "capture_not_found") return undefined;
      const isAway = error.status === 0 || error.status >= 502;
      if (!isAway || Date.now() > until) throw new UsageError(`the capture ${id} may still run: ${error.message}`, `${remove} ends it`);
      if (!isTold)
        context.terminal.complain(
          `the service does not answer: waiting up to ${restartMs / 1_000} s to remove the capture. Later: ${remove}`,
        );
      await pause(500);
    }
  }
}
