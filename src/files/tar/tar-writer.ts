/** One entry to write; texts are bytes as latin1. */
export interface TarWrite {
  readonly name: string;
  readonly type?: string;
  readonly mode?: number;
  readonly uid?: number;
  readonly gid?: number;
  /** Seconds. */
  readonly mtime?: number;
  readonly link?: string;
  /** Major and minor of a device node. */
  readonly device?: readonly [number, number];
  readonly data?: Buffer;
}

/** Returns a tar archive of these entries in GNU format: a name over 100 bytes precedes its entry. */
export function tarArchive(entries: Iterable<TarWrite>): Buffer {
  const blocks: Buffer[] = [];
  for (const entry of entries) blocks.push(entryHead(entry, entry.data?.length ?? 0), ...body(entry.data ?? Buffer.alloc(0)));
  return Buffer.concat([...blocks, tarEnd]);
}

/** The end of an archive. */
export const tarEnd = Buffer.alloc(1024);

/** Returns the bytes before the data of an entry. The data is followed by zeros up to a multiple of 512 bytes. @param size bytes of the data */
export function entryHead(entry: Omit<TarWrite, "data">, size: number): Buffer {
  const { name, link = "" } = entry;
  const long = [...(name.length > 100 ? extended("L", name) : []), ...(link.length > 100 ? extended("K", link) : [])];
  return Buffer.concat([...long, header(entry, size)]);
}

function extended(type: string, text: string): Buffer[] {
  const data = Buffer.from(`${text}\0`, "latin1");
  return [header({ name: "././@LongLink", type }, data.length), ...body(data)];
}

function body(data: Buffer): Buffer[] {
  return [data, Buffer.alloc((512 - (data.length % 512)) % 512)];
}

function header(entry: TarWrite, size: number): Buffer {
  const block = Buffer.alloc(512);
  const octal = (value: number, at: number, length: number) => {
    const digits = Math.max(0, Math.trunc(value)).toString(8);
    if (digits.length < length) return block.write(digits.padStart(length - 1, "0"), at, "latin1");
    // GNU's form of large numbers: binary, big-endian, with the highest bit set.
    block.writeBigUInt64BE(BigInt(Math.trunc(value)), at + length - 8);
    block[at] = 0x80 | (length === 8 ? (block[at] ?? 0) : 0);
    return length;
  };
  block.write(entry.name.slice(0, 100), 0, "latin1");
  octal(entry.mode ?? 0o644, 100, 8);
  octal(entry.uid ?? 0, 108, 8);
  octal(entry.gid ?? 0, 116, 8);
  octal(size, 124, 12);
  octal(entry.mtime ?? 0, 136, 12);
  block.write(entry.type ?? "0", 156, "latin1");
  block.write((entry.link ?? "").slice(0, 100), 157, "latin1");
  block.write("ustar  \0", 257, "latin1");
  if (entry.device !== undefined) {
    octal(entry.device[0], 329, 8);
    octal(entry.device[1], 337, 8);
  }
  block.fill(0x20, 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}
