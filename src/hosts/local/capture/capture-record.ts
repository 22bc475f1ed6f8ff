import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { ifThere } from "../../../files/if-there.ts";
import { writeFileAtomic } from "../../../files/write-file-atomic.ts";
import type { CaptureRequest } from "../../host-captures.ts";
import { captureLimits, ringFiles } from "./capture-limits.ts";
import { readPlainFile } from "./plain-file.ts";

/*
 * A capture's directory belongs to the lab's root, whose process writes there. The service must expect any content
 * and any size there: only the record is the service's own.
 */

const maxRecordBytes = 64 << 10;
/** The files `end` and `counters` of the tap, bytes. */
const maxWordBytes = 4096;
/** Maximum size of one file of a ring, bytes: the largest allowed size of a whole ring. */
export const maxRingFileBytes = captureLimits.ringBytes;

/** The record of a capture beside its packets, in `<lab>/captures/<id>/capture.json`. */
export interface CaptureRecord extends CaptureRequest {
  readonly version: 1;
  readonly id: string;
  /** The device in the fabric. */
  readonly port: string;
  /** ms since 1970. */
  readonly startedAt: number;
  readonly ringBytes: number;
  /** Pid of the process inside the lab. Absent before the start. */
  readonly pid?: number;
  readonly stoppedAt?: number;
  /** The reason of the capture's end, if its process has not written one. */
  readonly ended?: { readonly failed: boolean; readonly reason: string };
}

/** One file of the ring, in the order in which they were written. */
export interface RingFile {
  readonly path: string;
  readonly sequence: number;
  readonly bytes: number;
}

/** Returns `undefined` if the record is missing, incomplete, or not written by the service. */
export async function readRecord(directory: string): Promise<CaptureRecord | undefined> {
  const found = await readPlainFile(join(directory, "capture.json"), maxRecordBytes);
  if (found === undefined || found.text === "" || found.owner !== process.getuid?.()) return undefined;
  const record = JSON.parse(found.text) as CaptureRecord;
  return record.version === 1 ? record : undefined;
}

/** Whether there is a record of any release, complete or not. */
export async function hasRecord(directory: string): Promise<boolean> {
  return lstat(join(directory, "capture.json")).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ENOTDIR") return false;
      throw error;
    },
  );
}

export async function writeRecord(directory: string, record: CaptureRecord): Promise<void> {
  await writeFileAtomic(join(directory, "capture.json"), `${JSON.stringify(record, null, 2)}\n`, 0o600);
}

/** How a capture's process ended, as the process reports it. */
export interface CaptureEnd {
  readonly how: "stopped" | "gone" | "seconds" | "error";
  readonly words: string;
  /** ms since 1970. */
  readonly at: number;
}

/** Returns `undefined` while the process runs, and if it was killed. */
export async function readEnd(directory: string): Promise<CaptureEnd | undefined> {
  const found = await readPlainFile(join(directory, "end"), maxWordBytes);
  if (found === undefined) return undefined;
  const [how = "", words = ""] = found.text.split("\n");
  return { how: how as CaptureEnd["how"], words, at: found.writtenAt };
}

/** Returns the number of captured packets, and of packets lost because the capture was too slow. */
export async function readCounters(directory: string): Promise<{ readonly packets: number; readonly dropped: number }> {
  const { text = "" } = (await readPlainFile(join(directory, "counters"), maxWordBytes)) ?? {};
  const [packets = 0, dropped = 0] = text.trim().split(/ +/).map(countOf);
  return { packets, dropped };
}

/** Returns 0 for a text that is not a count. */
function countOf(text: string): number {
  const count = Number(text);
  return Number.isSafeInteger(count) && count >= 0 ? count : 0;
}

/** Returns the files of the ring (packets_000001.pcapng …) in order. Empty if the capture was removed. */
export async function ringFilesIn(directory: string): Promise<readonly RingFile[]> {
  const found: RingFile[] = [];
  for (const name of await namesIn(directory)) {
    const sequence = /^packets_(\d{1,15})\.pcapng$/.exec(name)?.[1];
    if (sequence === undefined) continue;
    const path = join(directory, name);
    // The ring may have removed the file meanwhile.
    const stats = await ifThere(lstat(path));
    if (stats?.isFile()) found.push({ path, sequence: Number(sequence), bytes: Math.min(stats.size, maxRingFileBytes) });
  }
  // A ring has one file more while its oldest file is being removed.
  return found.sort((a, b) => a.sequence - b.sequence).slice(-(ringFiles + 1));
}

/** Returns the names in a directory, none if it does not exist. */
export async function namesIn(directory: string): Promise<readonly string[]> {
  return readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
}
