import { constants, createReadStream } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import type { UnpackLimits } from "../containers/archive/budget.ts";
import { type Bytes, decompressed } from "../containers/archive/decompress.ts";

const zeros = Buffer.alloc(64 * 1024);

export interface CopyLimits extends UnpackLimits {
  /** Maximum bytes on disk: the free ones. */
  readonly room: number;
  readonly signal?: AbortSignal | undefined;
  /** Receives the bytes that were read. */
  readonly progress?: (bytes: number) => void;
}

/** Opens a plain file. Throws ArchiveError not_found or bad_image. */
export async function openPlain(path: string): Promise<FileHandle> {
  // A named pipe must not block the command.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR")
      throw new ArchiveError("not_found", `there is no ${path}`, "check the path of the file");
    if (error.code === "EACCES")
      throw new ArchiveError(
        "not_allowed",
        `${path} may not be read by this user`,
        "run the command as root, or give the user the right to read it",
      );
    throw error;
  });
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new ArchiveError("bad_image", `${path} is not a plain file`, "name the file of a disk");
}

/** Copies a file, decompressed if it is gzip, zstd or xz. Blocks of zeros take no room. Returns the bytes of the copy. Throws ArchiveError. */
export async function copyIn(path: string, to: string, limits: CopyLimits): Promise<number> {
  await using source = await openPlain(path);
  const bytes = decompressed(counted(source.createReadStream({ autoClose: false, highWaterMark: 1 << 20 }), limits), path, limits);
  return await writeSparse(bytes, to, path, limits);
}

/** Copies a part of a file. Throws ArchiveError. */
export async function copyPart(
  path: string,
  { offset, size }: { readonly offset: number; readonly size: number },
  to: string,
  limits: CopyLimits,
): Promise<number> {
  const part = size === 0 ? none() : createReadStream(path, { start: offset, end: offset + size - 1, highWaterMark: 1 << 20 });
  return writeSparse(counted(part, limits), to, path, limits);
}

async function* none(): Bytes {}

async function* counted(source: Bytes, { signal, progress }: CopyLimits): Bytes {
  let bytes = 0;
  for await (const chunk of source) {
    signal?.throwIfAborted();
    bytes += chunk.length;
    progress?.(bytes);
    yield chunk;
  }
}

async function writeSparse(source: Bytes, to: string, what: string, { bytes: most, room }: CopyLimits): Promise<number> {
  await using file = await open(to, "wx", 0o600);
  let at = 0;
  let written = 0;
  for await (const chunk of source) {
    if (at + chunk.length > most)
      throw new ArchiveError(
        "too_large",
        `${what} has more than ${most} bytes`,
        "--max-bytes raises the limit, and the disk needs as much room",
      );
    for (let start = 0; start < chunk.length; start += zeros.length) {
      const block = chunk.subarray(start, start + zeros.length);
      if (!block.equals(zeros.subarray(0, block.length))) {
        written += block.length;
        if (written > room) throw Object.assign(new Error("no room"), { code: "ENOSPC" });
        await file.write(block, 0, block.length, at + start);
      }
    }
    at += chunk.length;
  }
  await file.truncate(at);
  return at;
}
