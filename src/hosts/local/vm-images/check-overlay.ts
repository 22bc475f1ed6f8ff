import { checkHead, checkQcow2 } from "./check-qcow2.ts";
import { unsafeImage } from "./refuse.ts";

const again = "export the disks again with labwright export";

/**
 * Checks the header of a qcow2 overlay of a node: it refers to the file of its image and to nothing else.
 * @param head its first 64 KiB, or fewer if it is shorter
 * @param size bytes of the file
 * @param backing the only file that it may refer to, as `/<file>`; none: a whole disk
 * @throws ArchiveError
 */
export function checkOverlay(
  what: string,
  head: Buffer,
  size: number,
  backing: { readonly file: string; readonly format: "qcow2" | "raw" },
): void {
  if (head.toString("latin1", 0, 4) !== "QFI\xfb") throw unsafeImage(`${what} is not a disk in the format qcow2`, again);
  const offset = head.length >= 72 ? head.readBigUInt64BE(8) : 0n;
  if (offset === 0n) {
    checkQcow2(what, head, size);
    return;
  }
  checkHead(what, head, size);
  const length = head.readUInt32BE(16);
  const end = Number(offset) + length;
  const name = length <= 1023 && end <= head.length ? head.toString("latin1", Number(offset), end) : "";
  if (name !== `/${backing.file}`)
    throw unsafeImage(
      `${what}: byte 8: it is the difference to ${JSON.stringify(name)}, not to the disk of its image, /${backing.file}`,
      again,
    );
  checkExtensions(what, head, Number(offset), backing.format);
}

const backingFormat = 0xe2792aca;
const dataFile = 0x44415441;
const bitmaps = 0x23852875;
const featureNames = 0x6803f857;

/** Extensions may name the format of the file below, features, and dirty bitmaps: nothing that leads to another file or program. */
function checkExtensions(what: string, head: Buffer, end: number, format: string): void {
  let at = head.readUInt32BE(4) === 2 ? 72 : head.readUInt32BE(100);
  if (at < 72) throw unsafeImage(`${what}: byte 100: its header has an impossible length`, again);
  while (at + 8 <= Math.min(end, head.length)) {
    const [type, length] = [head.readUInt32BE(at), head.readUInt32BE(at + 4)];
    if (type === 0) return;
    const text = head.toString("latin1", at + 8, Math.min(at + 8 + length, head.length));
    if (type === dataFile) throw unsafeImage(`${what}: byte ${at}: its data is in another file, ${JSON.stringify(text)}`, again);
    if (type === backingFormat && text !== format)
      throw unsafeImage(`${what}: byte ${at}: it reads its image as ${JSON.stringify(text)}, and the image is ${format}`, again);
    if (![backingFormat, bitmaps, featureNames].includes(type))
      throw unsafeImage(`${what}: byte ${at}: it has an extension that is not known (0x${type.toString(16)})`, again);
    at += 8 + Math.ceil(length / 8) * 8;
  }
}
