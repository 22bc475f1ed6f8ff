import { checkDiskBytes } from "./check-qcow2.ts";
import type { ReadPart } from "./check-vmdk.ts";
import { wrongImage } from "./refuse.ts";

/** Checks that a disk has all of its partitions. Throws ArchiveError. @param size bytes of the file */
export async function checkRaw(what: string, read: ReadPart, size: number): Promise<void> {
  checkDiskBytes(what, BigInt(size));
  if (size % 512 !== 0) throw wrongImage(`${what} is cut off: a disk has whole sectors of 512 bytes, and it has ${size} bytes`);
  const head = await read(0, 1024);
  for (let entry = 0; entry < 4; entry++) {
    const at = 446 + 16 * entry;
    const type = head[at + 4];
    const end = (head.readUInt32LE(at + 8) + head.readUInt32LE(at + 12)) * 512;
    // Type 0xee protects a table that follows.
    if (type === 0 || type === 0xee || end <= size) continue;
    throw wrongImage(`${what} is cut off: its partition ${entry + 1} ends at byte ${end}, and it has ${size} bytes`);
  }
  if (head.toString("latin1", 512, 520) !== "EFI PART") return;
  const last = (head.readBigUInt64LE(512 + 32) + 1n) * 512n;
  if (last > BigInt(size)) throw wrongImage(`${what} is cut off: its partition table is for a disk of ${last} bytes, and it has ${size}`);
}

/** Checks that an ISO 9660 file is whole. Throws ArchiveError. @param size bytes of the file */
export async function checkIso(what: string, read: ReadPart, size: number): Promise<void> {
  const descriptor = await read(16 * 2048, 2048);
  const blocks = descriptor.readUInt32LE(80);
  const bytes = blocks * descriptor.readUInt16LE(128);
  if (bytes === 0) throw wrongImage(`${what}: byte ${16 * 2048 + 80}: the CD is empty`);
  if (bytes > size) throw wrongImage(`${what} is cut off: the CD has ${bytes} bytes, and the file ${size}`);
}
