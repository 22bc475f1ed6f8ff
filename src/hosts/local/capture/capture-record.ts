import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { CaptureRequest } from "../../host-captures.ts";
import { readIfThere } from "../holder/identity.ts";
import { writeFileAtomic } from "../write-file-atomic.ts";

/** A capture as it is written down beside its packets, in `<lab>/captures/<id>/capture.json`. */
export interface CaptureRecord extends CaptureRequest {
  readonly version: 1;
  readonly id: string;
  /** The device in the fabric. */
  readonly port: string;
  /** ms since 1970. */
  readonly startedAt: number;
  readonly ringBytes: number;
  /** As the lab sees it; absent before it was started. */
  readonly pid?: number;
  readonly stoppedAt?: number;
  /** Why it ended, where its process left no word of it. */
  readonly ended?: { readonly failed: boolean; readonly reason: string };
}

/** One file of the ring, in the order in which they were written. */
export interface RingFile {
  readonly path: string;
  readonly sequence: number;
  readonly bytes: number;
}

/** undefined where there is none, or none that was ever written whole. */
export async function readRecord(directory: string): Promise<CaptureRecord | undefined> {
  const text = await readIfThere(join(directory, "capture.json"));
  if (text === "") return undefined;
  const record = JSON.parse(text) as CaptureRecord;
  return record.version === 1 ? record : undefined;
}

export async function writeRecord(directory: string, record: CaptureRecord): Promise<void> {
  await writeFileAtomic(join(directory, "capture.json"), `${JSON.stringify(record, null, 2)}\n`, 0o600);
}

/** How a capture's process ended, by its own words. */
export interface CaptureEnd {
  readonly how: "stopped" | "gone" | "seconds" | "error";
  readonly words: string;
  /** ms since 1970. */
  readonly at: number;
}

/** undefined while it has not ended, and for one that was killed. */
export async function readEnd(directory: string): Promise<CaptureEnd | undefined> {
  try {
    const path = join(directory, "end");
    const [text, { mtimeMs }] = await Promise.all([readFile(path, "utf8"), stat(path)]);
    const [how = "", words = ""] = text.split("\n");
    return { how: how as CaptureEnd["how"], words, at: mtimeMs };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Packets taken, and lost because nothing was fast enough to take them. */
export async function readCounters(directory: string): Promise<{ readonly packets: number; readonly dropped: number }> {
  const [packets = 0, dropped = 0] = (await readIfThere(join(directory, "counters"))).trim().split(/ +/).map(Number);
  return { packets, dropped };
}

/** Named packets_000001.pcapng and so on. Empty where the capture was removed. */
export async function ringFilesIn(directory: string): Promise<readonly RingFile[]> {
  const found: RingFile[] = [];
  for (const name of await namesIn(directory)) {
    const sequence = /^packets_(\d+)\.pcapng$/.exec(name)?.[1];
    if (sequence === undefined) continue;
    const path = join(directory, name);
    const size = await stat(path).then(
      (file) => file.size,
      (error: NodeJS.ErrnoException) => {
        // The ring dropped it meanwhile.
        if (error.code === "ENOENT") return undefined;
        throw error;
      },
    );
    if (size !== undefined) found.push({ path, sequence: Number(sequence), bytes: size });
  }
  return found.sort((a, b) => a.sequence - b.sequence);
}

/** Of a directory; none where it is not there. */
export async function namesIn(directory: string): Promise<readonly string[]> {
  return readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
}
