import { checkDiskBytes } from "./check-qcow2.ts";
import { unsafeImage, wrongImage } from "./refuse.ts";

const sector = 512n;
/** The place of the tables in a stream whose writer did not know it. */
const tablesAtEnd = 0xffff_ffff_ffff_ffffn;
/** Maximum bytes of a descriptor: qemu-img reads no more. */
const maxDescriptor = 20 * 512;

/** Reads a part of a file; fewer bytes at its end. */
export type ReadPart = (at: number, length: number) => Promise<Buffer>;

const whole =
  "make one file of all its parts where they are: qemu-img convert -O qcow2 FILE.vmdk WHOLE.qcow2, or export the machine as OVA";

/** Throws unsafe_image: the file is a list of other files. */
export function refuseDescriptor(what: string, text: string): never {
  const other = /^\s*(?:RW|RDONLY|NOACCESS)\s+\d+\s+\w+\s+"([^"\n]{0,200})"/m.exec(text)?.[1];
  throw unsafeImage(
    `${what} is a description of a disk: its data is in other files${other === undefined ? "" : `, such as ${JSON.stringify(other)}`}`,
    whole,
  );
}

/**
 * Checks a sparse VMDK file (monolithicSparse or streamOptimized), and its embedded descriptor: it must not refer to another file.
 * @throws ArchiveError
 */
export async function checkVmdk(what: string, read: ReadPart, size: number): Promise<void> {
  const head = await read(0, 512);
  if (head.length < 512) throw wrongImage(`${what} is cut off: it has ${size} bytes, and the header of a VMDK file has 512`);
  if (head.toString("latin1", 0, 4) === "COWD")
    throw wrongImage(`${what} is a disk of an ESX server, which is one of several files`, whole);
  const version = head.readUInt32LE(4);
  if (version < 1 || version > 3) throw wrongImage(`${what}: byte 4: version ${version} of the format VMDK is not read`);
  const capacity = head.readBigUInt64LE(12);
  // A file without a capacity is read like a descriptor, with other files.
  if (capacity === 0n) throw unsafeImage(`${what}: byte 12: it has no data of its own, only a description of other files`, whole);
  checkDiskBytes(`${what}: byte 12`, capacity * sector);
  const [at, sectors] = [head.readBigUInt64LE(28), head.readBigUInt64LE(36)];
  if (at !== 0n) {
    const place = Number(at * sector);
    const length = Math.min(Number(sectors * sector), maxDescriptor);
    if (place + length > size) throw wrongImage(`${what} is cut off: its description ends beyond its ${size} bytes`);
    checkDescriptor(`${what}: byte ${place}`, (await read(place, length)).toString("latin1").replace(/\0.*$/s, ""));
  }
  if (size % 512 !== 0) throw wrongImage(`${what} is cut off: it has whole sectors of 512 bytes, and ${size} bytes`);
  if (head.readBigUInt64LE(56) === tablesAtEnd) await checkStreamEnd(what, read, size);
  else checkTables(what, head, size);
}

function checkDescriptor(place: string, text: string): void {
  const value = (key: string) => new RegExp(`^\\s*${key}\\s*=\\s*"?([^"\\r\\n]*)`, "im").exec(text)?.[1]?.trim();
  const parent = value("parentCID");
  if ((parent !== undefined && !/^f{8}$/i.test(parent)) || value("parentFileNameHint") !== undefined)
    throw unsafeImage(`${place}: it is the difference to another disk, ${JSON.stringify(value("parentFileNameHint") ?? parent)}`, whole);
  const type = value("createType");
  if (type !== undefined && !/^(monolithicSparse|streamOptimized)$/i.test(type))
    throw unsafeImage(`${place}: it is a disk of type ${JSON.stringify(type)}, whose data is in other files`, whole);
  const parts = [...text.matchAll(/^\s*(?:RW|RDONLY|NOACCESS)\s+\d+\s+(\w+)\s+"([^"\r\n]*)"/gm)];
  const other = parts.find(([, kind, name]) => kind !== "SPARSE" || /[\\/]/.test(name!));
  if (other !== undefined || parts.length > 1)
    throw unsafeImage(`${place}: its data is in other files: ${JSON.stringify((other ?? parts[1])![2])}`, whole);
}

/** A stream ends with a marker of zeros behind its footer. */
async function checkStreamEnd(what: string, read: ReadPart, size: number): Promise<void> {
  const end = await read(Math.max(0, size - 3 * 512), 3 * 512);
  const footer = end.toString("latin1", 512, 516) === "KDMV";
  const last = end.subarray(1024);
  if (!footer || last.length < 512 || last.some((byte) => byte !== 0))
    throw wrongImage(`${what} is cut off: the end of its stream is missing`);
}

function checkTables(what: string, head: Buffer, size: number): void {
  for (const at of [48, 56]) {
    const place = head.readBigUInt64LE(at);
    if (place !== 0n && place * sector >= BigInt(size))
      throw wrongImage(`${what} is cut off: byte ${at} names a table beyond its ${size} bytes`);
  }
  const overhead = head.readBigUInt64LE(64);
  if (overhead * sector > BigInt(size)) throw wrongImage(`${what} is cut off: its tables end beyond its ${size} bytes`);
}
