import { extract, type Header } from "tar-stream";
import { ArchiveError } from "./archive-error.ts";

/** The header of one entry. Texts are bytes as latin1: a file name need not be UTF-8. */
export interface TarHeader {
  readonly name: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  /** Seconds. */
  readonly mtime: number;
  /** The type flag as it is in the archive, such as "0" for a file. */
  readonly type: string;
  readonly link: string;
  /** Extended attributes that the archive has for the entry. */
  readonly xattrs: number;
  /** The entry is a directory of an overlay that hides the directory below it: set only in archives of GNU tar with extended attributes. */
  readonly opaque: boolean;
}

/** The extended attribute of an opaque directory in an overlay of a user namespace. */
export const opaqueAttribute = "user.overlay.opaque";

/** Bytes of the extended headers (pax, GNU long names) of one entry. */
const maxExtended = 1024 * 1024;

/** Pax records of a global header that would change entries. */
const changingRecord = /(^|\n)[0-9]+ (path|linkpath|size|uid|gid|hdrcharset|GNU\.|SCHILY\.|LIBARCHIVE\.)/;

/**
 * Reads the headers of one entry, with its pax headers and GNU long names. `undefined` at the end of the archive, which is a block of zeros, or for
 * `mayLackEnd` also the end of the source.
 * tar-stream interprets the headers; it gets no data of files, so that the caller knows where each file begins.
 *
 * @param block returns the next 512 bytes, fewer at the end of the source
 * @throws ArchiveError bad_archive
 */
export async function readHeader(block: () => Promise<Buffer>, at: number, mayLackEnd = false): Promise<TarHeader | undefined> {
  const parser = new HeaderParser();
  try {
    let next = await block();
    while (typeOf(next) === "g") {
      // tar-stream would apply a global header to some entries and not to others.
      await skipGlobal(next, block, at);
      next = await block();
    }
    if (next.length === 0 && mayLackEnd) return undefined;
    if (next.length === 512 && next.every((byte) => byte === 0)) return undefined;
    for (let bytes = 512; bytes <= maxExtended; bytes += 512) {
      if (next.length < 512) throw broken(at, "it is cut off");
      const found = await parser.write(next).catch((error: Error) => {
        throw broken(at, error.message);
      });
      if (found !== undefined) return checked(found, typeOf(next), at);
      next = await block();
    }
    throw broken(at, `its extended headers have more than ${maxExtended} bytes`);
  } finally {
    parser.close();
  }
}

/** tar-stream, fed with one block after the other. */
class HeaderParser {
  readonly #extract = extract({ filenameEncoding: "latin1", allowUnknownFormat: true, highWaterMark: 1 } as object);
  #settle: { readonly resolve: (found: Header | undefined) => void; readonly reject: (error: Error) => void } | undefined;
  #error: Error | undefined;

  constructor() {
    this.#extract.on("entry", (header) => this.#settle?.resolve(header));
    this.#extract.on("drain", () => this.#settle?.resolve(undefined));
    this.#extract.on("error", (error) => {
      this.#error = error;
      this.#settle?.reject(error);
    });
  }

  /** Resolves with the header once it is whole, `undefined` if more blocks are needed. */
  write(block: Buffer): Promise<Header | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#error !== undefined) return reject(this.#error);
      this.#settle = { resolve, reject };
      this.#extract.write(block);
    });
  }

  close(): void {
    this.#settle = undefined;
    this.#extract.destroy();
  }
}

function checked(found: Header, type: string, at: number): TarHeader {
  const pax = new Map(Object.entries((found.pax ?? {}) as Readonly<Record<string, string>>));
  const keys = [...pax.keys()];
  if (type === "S" || keys.some((key) => key.startsWith("GNU.sparse."))) throw broken(at, "sparse files are not supported");
  const number = (key: string, value: number): number => {
    const text = pax.get(key);
    const parsed = Math.floor(text === undefined ? value : Number(text));
    const isNumber = text === undefined || /^-?[0-9]+(\.[0-9]*)?$/.test(text);
    if (!isNumber || !Number.isSafeInteger(parsed)) throw broken(at, `its ${key} is not a number`);
    if (parsed < 0 && key !== "mtime") throw broken(at, `its ${key} is negative`);
    return parsed;
  };
  const text = (key: string, value: string): string => {
    if (!pax.has(key)) return value;
    if (value.includes("\ufffd")) throw broken(at, `its pax ${key} is not UTF-8`);
    return Buffer.from(value, "utf8").toString("latin1");
  };
  return {
    name: text("path", found.name),
    mode: (found.mode ?? 0) & 0o7777,
    uid: number("uid", found.uid ?? 0),
    gid: number("gid", found.gid ?? 0),
    size: number("size", found.size ?? 0),
    mtime: number("mtime", (found.mtime?.getTime() ?? 0) / 1000),
    type,
    link: text("linkpath", found.linkname ?? ""),
    xattrs: keys.filter((key) => /^(SCHILY\.xattr|LIBARCHIVE\.xattr)\./.test(key)).length,
    opaque: pax.get(`SCHILY.xattr.${opaqueAttribute}`) === "y",
  };
}

/** Git writes its commit into a global header, which is ignored. */
async function skipGlobal(header: Buffer, block: () => Promise<Buffer>, at: number): Promise<void> {
  const size = Number.parseInt(header.toString("latin1", 124, 136), 8);
  if (!(size >= 0 && size <= maxExtended)) throw broken(at, "its global header has no valid size");
  const blocks: Buffer[] = [];
  for (let left = size; left > 0; left -= 512) {
    const next = await block();
    if (next.length < 512) throw broken(at, "it is cut off");
    blocks.push(next);
  }
  if (changingRecord.test(Buffer.concat(blocks).toString("latin1", 0, size))) {
    throw broken(at, "global headers that change entries are not supported");
  }
}

function typeOf(block: Buffer): string {
  return block.toString("latin1", 156, 157);
}

export function broken(at: number, why: string): ArchiveError {
  return new ArchiveError("bad_archive", `the tar archive is damaged: the entry at byte ${at}: ${why}`);
}
