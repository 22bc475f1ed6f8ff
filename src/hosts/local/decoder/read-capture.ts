import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../../../contract/errors.ts";
import { withoutHeader } from "../../../packets/pcapng-blocks.ts";
import { gapBlock } from "../../../packets/pcapng-gap.ts";
import type { HostCapture } from "../../host-captures.ts";
import { maxRingFileBytes, readEnd, ringFilesIn } from "../capture/capture-record.ts";
import { openPlainFile } from "../capture/plain-file.ts";

export interface CaptureFeed {
  readonly directory: string;
  /** The capture as it is now. */
  readonly state: () => Promise<HostCapture>;
}

/** How often a file that grows is looked at, ms. */
const lookMs = 50;
const askMs = 2_000;
const chunkBytes = 256 << 10;

/**
 * The packets in a capture's ring as one pcapng of one section: each file of the ring has the same header, which is told once. With `follow` it
 * goes on until the capture ends or `signal` aborts; else it ends with the last whole packet that is there. Whoever reads so slowly that a full
 * ring drops what comes next finds a block with a comment in its place. Throws host_error for a file that is larger than one of a ring can be.
 */
export async function* readCapture(feed: CaptureFeed, follow: boolean, signal?: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
  const hasEnded = endOf(feed);
  const upTo = (await ringFilesIn(feed.directory)).at(-1)?.sequence ?? 0;
  const buffer = Buffer.allocUnsafe(chunkBytes);
  for (let done = 0; ; ) {
    const next = (await ringFilesIn(feed.directory)).find(({ sequence }) => sequence > done);
    if (next === undefined || (!follow && next.sequence > upTo)) return;
    await using file = await openPlainFile(next.path);
    // The ring dropped it meanwhile: there is a newer one.
    if (file === undefined) continue;
    const blocks = withoutHeader(done > 0);
    const missing = next.sequence - done - 1;
    if (done > 0 && missing > 0) {
      yield gapBlock(`${missing} of the ring's files were dropped before they were read: the packets between are missing here`, Date.now());
    }
    done = next.sequence;
    let length = 0;
    for (let last = false; ; ) {
      if (signal?.aborted === true) return;
      const { bytesRead } = await file.read(buffer, 0, chunkBytes);
      if (bytesRead > 0) {
        length += bytesRead;
        if (length > maxRingFileBytes) throw new Failure("host_error", "a file of the capture is larger than its ring can have made it");
        const whole = blocks(new Uint8Array(buffer.subarray(0, bytesRead)));
        if (whole.length > 0) yield whole;
        continue;
      }
      if (last || !follow) break;
      // Who ended, or goes on in another file, wrote the last of this one before: one more look.
      last = (await hasEnded()) || (await ringFilesIn(feed.directory)).some(({ sequence }) => sequence > next.sequence);
      if (!last && !(await paused(signal))) return;
    }
    if (follow && (await ringFilesIn(feed.directory)).every(({ sequence }) => sequence <= done)) return;
  }
}

/** The process's own last words tell at once; for one that died without any the lab's process table is asked, which costs more. */
function endOf(feed: CaptureFeed): () => Promise<boolean> {
  let asked = Date.now();
  return async () => {
    if ((await readEnd(feed.directory)) !== undefined) return true;
    if (asked + askMs > Date.now()) return false;
    asked = Date.now();
    return (await feed.state()).status !== "running";
  };
}

/** False: aborted. */
async function paused(signal: AbortSignal | undefined): Promise<boolean> {
  return delay(lookMs, true, { ...(signal === undefined ? {} : { signal }) }).catch(() => false);
}
