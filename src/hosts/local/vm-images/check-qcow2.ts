import { ArchiveError } from "../../../files/tar/archive-error.ts";
import { unsafeImage, wrongImage } from "./refuse.ts";

/** Maximum size of a disk as the guest sees it, bytes. */
export const maxDiskBytes = 4 * 1024 ** 4;

/** Incompatible features that change nothing outside the file: dirty, corrupt, compression type, extended L2 entries. */
const knownFeatures = 0b11011n;
const externalData = 0b100n;

/**
 * Checks the header of a qcow2 file: the file must not refer to another one, and its guest must be able to read it without a key.
 * @param head its first 4096 bytes, or fewer if it is shorter
 * @param size bytes of the file
 * @throws ArchiveError
 */
export function checkQcow2(what: string, head: Buffer, size: number): void {
  const backing = head.length >= 72 ? head.readBigUInt64BE(8) : 0n;
  if (isKnown(head) && backing !== 0n) {
    const length = Math.min(head.readUInt32BE(16), 200);
    const name = backing < BigInt(head.length) ? head.toString("latin1", Number(backing), Number(backing) + length) : "";
    throw unsafeImage(
      `${what}: byte 8: it is the difference to another file${name === "" ? "" : `, ${JSON.stringify(name)}`}`,
      "make one whole file of both on the machine that has them: qemu-img convert -O qcow2 FILE WHOLE.qcow2",
    );
  }
  checkHead(what, head, size);
}

function isKnown(head: Buffer): boolean {
  return head.length >= 72 && [2, 3].includes(head.readUInt32BE(4));
}

/** Checks all of the header but the file below. @throws ArchiveError */
export function checkHead(what: string, head: Buffer, size: number): void {
  if (head.length < 72) throw wrongImage(`${what} is cut off: it has ${size} bytes, and the header of a qcow2 file has 72`);
  const version = head.readUInt32BE(4);
  if (!isKnown(head))
    throw wrongImage(`${what}: byte 4: it has version ${version} of the format qcow; versions 2 and 3 are read`, convertHint);
  const clusterBits = head.readUInt32BE(20);
  if (clusterBits < 9 || clusterBits > 21) throw wrongImage(`${what}: byte 20: a cluster of 2^${clusterBits} bytes is impossible`);
  const virtual = head.readBigUInt64BE(24);
  checkDiskBytes(`${what}: byte 24`, virtual);
  if (head.readUInt32BE(32) !== 0)
    throw wrongImage(`${what}: byte 32: it is encrypted`, "decrypt it where its key is: qemu-img convert -O qcow2 FILE WHOLE.qcow2");
  for (const [name, at] of [
    ["L1 table", 40],
    ["refcount table", 48],
  ] as const)
    if (head.readBigUInt64BE(at) >= BigInt(size)) throw wrongImage(`${what} is cut off: its ${name} is beyond its ${size} bytes`);
  const features = version === 3 && head.length >= 80 ? head.readBigUInt64BE(72) : 0n;
  if ((features & externalData) !== 0n)
    throw unsafeImage(
      `${what}: byte 72: its data is in another file`,
      "make one whole file of both on the machine that has them: qemu-img convert -O qcow2 FILE WHOLE.qcow2",
    );
  if ((features & ~knownFeatures) !== 0n)
    throw wrongImage(`${what}: byte 72: it needs features that are not known (0x${features.toString(16)})`, convertHint);
}

/** @throws ArchiveError too_large, or bad_image for an empty disk */
export function checkDiskBytes(place: string, bytes: bigint): void {
  if (bytes === 0n) throw wrongImage(`${place}: the disk is empty`);
  if (bytes > BigInt(maxDiskBytes))
    throw new ArchiveError(
      "too_large",
      `${place}: a disk of ${bytes} bytes is larger than the ${maxDiskBytes} bytes that a node can have`,
      "make a smaller disk where it comes from, and shrink its file systems before: qemu-img resize --shrink",
    );
}

const convertHint = "convert it: qemu-img convert -O qcow2 FILE NEW.qcow2";
