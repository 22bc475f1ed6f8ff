import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";

/** A file in a ZIP archive. */
export interface ZipEntry {
  /** The path with its folders, separated by slashes. Not checked: a caller that writes entries to disk must refuse ".." and absolute paths. */
  readonly name: string;
  readonly data: Uint8Array;
}

const localSignature = 0x04034b50;
const centralSignature = 0x02014b50;
const endSignature = 0x06054b50;
const [stored, deflated] = [0, 8];
const encrypted = 0x0001;
const utf8Names = 0x0800;
/** 1 January 1980, the first day of the format, so that archives of the same files are equal. */
const epoch = 0x21;

/**
 * Returns the files of an archive, without folders. Reads the archives of zip(1) and this module: stored and deflated, one disk, no ZIP64. Throws
 * `SyntaxError` for any other archive, and if the files together exceed `maxBytes`. @param leaveOut files that are not unpacked, by their size as the archive states it
 */
export function readZip(
  archive: Uint8Array,
  maxBytes = 64 * 1024 * 1024,
  leaveOut: (name: string, size: number) => boolean = () => false,
): readonly ZipEntry[] {
  const bytes = Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength);
  try {
    return read(bytes, maxBytes, leaveOut);
  } catch (error) {
    if (error instanceof SyntaxError) throw error;
    // A read beyond the end of the bytes.
    throw new SyntaxError("the ZIP archive is damaged: it is cut off, or a place in it is wrong", { cause: error });
  }
}

function read(bytes: Buffer, maxBytes: number, leaveOut: (name: string, size: number) => boolean): readonly ZipEntry[] {
  const end = findEnd(bytes);
  const count = bytes.readUInt16LE(end + 10);
  let at = bytes.readUInt32LE(end + 16);
  let left = maxBytes;
  const entries: ZipEntry[] = [];
  for (let index = 0; index < count; index++) {
    if (bytes.readUInt32LE(at) !== centralSignature) throw new SyntaxError("the ZIP archive is damaged: no directory where it should be");
    const [flags, method] = [bytes.readUInt16LE(at + 8), bytes.readUInt16LE(at + 10)];
    const [checksum, packedSize, size] = [bytes.readUInt32LE(at + 16), bytes.readUInt32LE(at + 20), bytes.readUInt32LE(at + 24)];
    const [nameSize, extraSize, commentSize] = [bytes.readUInt16LE(at + 28), bytes.readUInt16LE(at + 30), bytes.readUInt16LE(at + 32)];
    const name = bytes.toString("utf8", at + 46, at + 46 + nameSize);
    if ((flags & encrypted) !== 0) throw new SyntaxError(`${shown(name)} in the ZIP archive is encrypted`);
    const next = at + 46 + nameSize + extraSize + commentSize;
    if (leaveOut(name, size)) {
      at = next;
      continue;
    }
    if (size > left) throw new SyntaxError(`the files in the ZIP archive are larger than ${maxBytes} bytes`);
    left -= size;
    const start = dataStart(bytes, bytes.readUInt32LE(at + 42));
    const packed = bytes.subarray(start, start + packedSize);
    if (packed.length !== packedSize) throw new SyntaxError("the ZIP archive is damaged: it is cut off");
    if (!name.endsWith("/")) entries.push({ name, data: unpack(name, method, packed, size, checksum) });
    at = next;
  }
  return entries;
}

/** The end record is last, except for a comment. */
function findEnd(bytes: Buffer): number {
  for (let at = bytes.length - 22; at >= Math.max(0, bytes.length - 22 - 0xffff); at--) {
    if (bytes.readUInt32LE(at) !== endSignature || at + 22 + bytes.readUInt16LE(at + 20) !== bytes.length) continue;
    if (bytes.readUInt16LE(at + 4) !== 0 || bytes.readUInt32LE(at + 16) === 0xffffffff)
      throw new SyntaxError("ZIP archives in several parts and ZIP64 are not supported: create one plain ZIP file");
    return at;
  }
  throw new SyntaxError("not a ZIP archive");
}

/** The local header repeats the name, with an extra field of its own. */
function dataStart(bytes: Buffer, local: number): number {
  if (bytes.readUInt32LE(local) !== localSignature) throw new SyntaxError("the ZIP archive is damaged: the header of a file is missing");
  return local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
}

function unpack(name: string, method: number, packed: Buffer, size: number, checksum: number): Uint8Array {
  if (method !== stored && method !== deflated)
    throw new SyntaxError(
      `${shown(name)} in the ZIP archive has compression method ${method}; only 0 (stored) and 8 (deflate) are supported`,
    );
  const data = method === stored ? packed : inflated(packed, size);
  if (data === undefined || data.length !== size || crc32(data) !== checksum)
    throw new SyntaxError(`the ZIP archive is damaged: ${shown(name)} does not match its size or checksum`);
  return data;
}

/** Returns the unpacked bytes. `undefined` if they are damaged, or more than `size`. */
function inflated(packed: Buffer, size: number): Buffer | undefined {
  try {
    return inflateRawSync(packed, { maxOutputLength: Math.max(1, size) });
  } catch {
    return undefined;
  }
}

/** Writes an archive of these files, deflated. The same files give the same bytes. */
export function writeZip(entries: readonly ZipEntry[]): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, data } of entries) {
    const [nameBytes, packed] = [Buffer.from(name, "utf8"), deflateRawSync(data)];
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(utf8Names, 2);
    common.writeUInt16LE(deflated, 4);
    common.writeUInt16LE(0, 6);
    common.writeUInt16LE(epoch, 8);
    common.writeUInt32LE(crc32(data), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(data.length, 18);
    common.writeUInt16LE(nameBytes.length, 22);
    const file = Buffer.concat([word(localSignature), common, nameBytes, packed]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([word(centralSignature), common.subarray(0, 2), common, tail, nameBytes]));
    files.push(file);
    offset += file.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(listed.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...files, listed, word(endSignature), end]);
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** A name in an archive has up to 64 KiB. */
function shown(name: string): string {
  return name.length > 200 ? `${name.slice(0, 200)}…` : name;
}
