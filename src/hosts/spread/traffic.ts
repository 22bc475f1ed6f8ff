import { PassThrough, type Readable } from "node:stream";
import type { HostSession } from "../host.ts";
import { framesOf, writeFrame } from "./codec.ts";

/** The packets of a link on another machine, in frames. A packet has the end that sent it as its kind, 0 or 1. */
const kind = { dropped: 2 } as const;

type Watch = NonNullable<HostSession["traffic"]>["watch"];
type Listener = Parameters<Watch>[2];

/** Bytes that wait for the other machine at most. Further packets are only counted. */
const maxWaitingBytes = 256 << 10;
/** ms between two reports of packets that were left out. */
const reportMs = 1_000;

/** Serves the packets of a link. A fast link, or a machine that reads slowly, uses no more memory: packets that are left out are reported as lost by the host. */
export function serveTraffic(session: Pick<HostSession, "traffic">, path: string, link: string, signal: AbortSignal): Readable {
  const out = new PassThrough({ highWaterMark: maxWaitingBytes });
  let dropped = 0;
  const isBehind = () => out.readableLength + out.writableLength > maxWaitingBytes;
  const report = () => {
    if (dropped > 0) writeFrame(out, kind.dropped, String(dropped));
    dropped = 0;
  };
  const timer = setInterval(() => {
    if (!isBehind()) report();
  }, reportMs).unref();
  out.once("close", () => clearInterval(timer));
  const listener: Listener = {
    packet: ({ data, ...packet }, from) => {
      if (isBehind()) dropped++;
      else writeFrame(out, from, JSON.stringify({ ...packet, bytes: Buffer.from(data).toString("base64") }));
    },
    dropped: (count) => {
      dropped += count;
    },
  };
  session.traffic!.watch(path, link, listener, signal).then(
    () => {
      report();
      out.end();
    },
    (error: Error) => out.destroy(error),
  );
  return out;
}

/** Reads the packets that another machine serves, until it ends. */
export async function readTraffic(stream: Readable, listener: Listener): Promise<void> {
  for await (const { kind: of, data } of framesOf(stream)) {
    if (of === kind.dropped) listener.dropped(Number(data.toString("utf8")));
    else {
      const { bytes, ...packet } = JSON.parse(data.toString("utf8")) as { bytes: string };
      listener.packet({ ...packet, data: Buffer.from(bytes, "base64") } as never, of as 0 | 1);
    }
  }
}
