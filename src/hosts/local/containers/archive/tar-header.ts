import { ArchiveError } from "./archive-error.ts";

/** One 512-byte header. Texts are bytes as latin1: a file name need not be UTF-8. */
export interface TarHeader {
  readonly name: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  /** Seconds. */
  readonly mtime: number;
  readonly type: string;
  readonly link: string;
}

/** undefined for a block of zeros: the end. Throws ArchiveError bad_archive. */
export function parseHeader(block: Buffer, at: number): TarHeader | undefined {
  if (block.every((byte) => byte === 0)) return undefined;
  const sum = number(block, 148, 8, at);
  let unsigned = 8 * 32;
  for (let i = 0; i < 512; i++) if (i < 148 || i >= 156) unsigned += block[i]!;
  if (sum !== unsigned) throw broken(at, "its checksum is wrong");
  const ustar = block.toString("latin1", 257, 262) === "ustar";
  // GNU's own form keeps times where POSIX keeps the prefix.
  const prefix = ustar && block[263] === 0x30 ? text(block, 345, 155) : "";
  const name = text(block, 0, 100);
  return {
    name: prefix === "" ? name : `${prefix}/${name}`,
    mode: number(block, 100, 8, at) & 0o7777,
    uid: number(block, 108, 8, at),
    gid: number(block, 116, 8, at),
    size: number(block, 124, 12, at),
    mtime: number(block, 136, 12, at),
    type: String.fromCharCode(block[156]!),
    link: text(block, 157, 100),
  };
}

/** Records of a pax header: "length key=value\n". */
export function parsePax(data: Buffer, at: number): ReadonlyMap<string, string> {
  const records = new Map<string, string>();
  for (let from = 0; from < data.length; ) {
    const space = data.indexOf(0x20, from);
    const digits = data.toString("latin1", from, space < 0 ? from : space);
    const length = Number(digits);
    const end = from + length;
    if (!/^[0-9]{1,9}$/.test(digits) || end > data.length || end <= space || data[end - 1] !== 0x0a)
      throw broken(at, "its pax record is malformed");
    const record = data.toString("latin1", space + 1, end - 1);
    const equals = record.indexOf("=");
    if (equals <= 0) throw broken(at, "its pax record has no key");
    records.set(record.slice(0, equals), record.slice(equals + 1));
    from = end;
  }
  return records;
}

/** A header with what pax says otherwise. */
export function withPax(header: TarHeader, pax: ReadonlyMap<string, string>, at: number): TarHeader {
  const whole = (key: string, otherwise: number): number => {
    const value = pax.get(key);
    if (value === undefined) return otherwise;
    const parsed = Number(value);
    if (!/^-?[0-9]+(\.[0-9]*)?$/.test(value) || !Number.isSafeInteger(Math.floor(parsed))) throw broken(at, `its pax ${key} is no number`);
    return Math.floor(parsed);
  };
  const found = {
    ...header,
    name: pax.get("path") ?? header.name,
    link: pax.get("linkpath") ?? header.link,
    size: whole("size", header.size),
    uid: whole("uid", header.uid),
    gid: whole("gid", header.gid),
    mtime: whole("mtime", header.mtime),
  };
  if (found.size < 0 || found.uid < 0 || found.gid < 0) throw broken(at, "its pax record has a negative number");
  return found;
}

export function broken(at: number, why: string): ArchiveError {
  return new ArchiveError("bad_archive", `the tar archive is damaged: the entry at byte ${at}: ${why}`);
}

function text(block: Buffer, from: number, length: number): string {
  const end = block.indexOf(0, from);
  return block.toString("latin1", from, end < 0 || end > from + length ? from + length : end);
}

/** Octal digits, or GNU's binary form. */
function number(block: Buffer, from: number, length: number, at: number): number {
  if ((block[from]! & 0x80) !== 0) {
    let value = block[from]! & 0x7f;
    if (value >= 0x40) return 0; // negative: a time before 1970
    for (let i = 1; i < length; i++) value = value * 256 + block[from + i]!;
    if (!Number.isSafeInteger(value)) throw broken(at, "a number is too large");
    return value;
  }
  const digits = text(block, from, length).trim();
  if (digits === "") return 0;
  if (!/^[0-7]+$/.test(digits)) throw broken(at, "a number is not octal");
  return Number.parseInt(digits, 8);
}
