import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../../../contract/errors.ts";
import { wholeBlocks } from "../../../packets/pcapng-blocks.ts";
import { gapBlock } from "../../../packets/pcapng-gap.ts";
import type { HostCapture } from "../../host-captures.ts";
import { maxRingFileBytes, readEnd, ringFilesIn } from "../capture/capture-record.ts";
import { openPlainFile } from "../capture/plain-file.ts";

export interface CaptureFeed {
  readonly directory: string;
  /** The capture as it is now. */
  readonly state: () => Promise<HostCapture>;
}

/** Interval at which a growing file is read, ms. */
const lookMs = 50;
const askMs = 2_000;
const chunkBytes = 256 << 10;

/**
 * The packets in a capture's ring as one pcapng of one section: the header, which all files of the ring share, appears once. With `follow` it
 * continues until the capture ends or `signal` aborts; else it ends with the last complete packet. If a slow reader loses packets because a
 * full ring dropped them, it gets a block with a comment in their place. Throws host_error for a file that is too large for a ring.
 */
export async function* readCapture(feed: CaptureFeed, follow: boolean, signal?: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
  const hasEnded = endOf(feed);
  const upTo = (await ringFilesIn(feed.directory)).at(-1)?.sequence ?? 0;
  const buffer = Buffer.allocUnsafe(chunkBytes);
  for (let done = 0; ; ) {
    const next = (await ringFilesIn(feed.directory)).find(({ sequence }) => sequence > done);
    if (next === undefined || (!follow && next.sequence > upTo)) return;
    await using file = await openPlainFile(next.path);
    // The ring has removed the file meanwhile: there is a newer one.
    if (file === undefined) continue;
    const blocks = wholeBlocks({ dropHeader: done > 0 });
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
        if (length > maxRingFileBytes) throw new Failure("host_error", "a file of the capture is larger than a capture can write");
        const whole = blocks(new Uint8Array(buffer.subarray(0, bytesRead)));
        if (whole.length > 0) yield whole;
        continue;
      }
      if (last || !follow) break;
      // The writer has finished this file, since it has ended or begun the next file: read the rest.
      last = (await hasEnded()) || (await ringFilesIn(feed.directory)).some(({ sequence }) => sequence > next.sequence);
      if (!last && !(await paused(signal))) return;
    }
    if (follow && (await ringFilesIn(feed.directory)).every(({ sequence }) => sequence <= done)) return;
  }
}

/** Whether the capture has ended. Checks the file that its process writes at the end; if it is missing, the process table of the lab, which costs more. */
function endOf(feed: CaptureFeed): () => Promise<boolean> {
  let asked = Date.now();
  return async () => {
    if ((await readEnd(feed.directory)) !== undefined) return true;
    if (asked + askMs > Date.now()) return false;
    asked = Date.now();
    return (await feed.state()).status !== "running";
  };
}

/** Returns false if the signal ended the pause: a pause fails for no other reason. */
async function paused(signal: AbortSignal | undefined): Promise<boolean> {
  return delay(lookMs, true, { ...(signal === undefined ? {} : { signal }) }).catch(() => false);
}
