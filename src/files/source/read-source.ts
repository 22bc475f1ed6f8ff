import { constants, type Dirent } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { ArchiveError } from "../tar/archive-error.ts";
import { readTar } from "../tar/tar-reader.ts";
import { readZip } from "../zip/zip.ts";

/** Limits of a file, folder or archive that is read into memory as a whole. */
export const sourceLimits = {
  files: 4096,
  /** All files together, unpacked. */
  bytes: 64 * 1024 * 1024,
  /** A larger file of a folder or archive, such as a disk, is left out. */
  fileBytes: 32 * 1024 * 1024,
  /** Maximum bytes of an archive before it is unpacked. */
  archiveBytes: 256 * 1024 * 1024,
  folders: 16,
} as const;

/** The files of a source by path, with slashes and relative to it. */
export interface SourceBytes {
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Files that were too large. */
  readonly leftOut: readonly { readonly path: string; readonly bytes: number }[];
}

/** Folders that contain no part of a lab. */
const skipped: ReadonlySet<string> = new Set([".git", "node_modules", ".venv", "__pycache__"]);

/**
 * Reads a folder. Symbolic links, sockets and devices are not followed. Throws ArchiveError too_large.
 * @param path an existing folder
 */
export async function readFolder(path: string): Promise<SourceBytes> {
  const files = new Map<string, Uint8Array>();
  const leftOut: { path: string; bytes: number }[] = [];
  let left: number = sourceLimits.bytes;
  const walk = async (folder: string, prefix: string, depth: number): Promise<void> => {
    if (depth > sourceLimits.folders) throw tooLarge(`the folder ${folder} is nested deeper than ${sourceLimits.folders} folders`);
    const entries: readonly Dirent[] = await readdir(folder, { withFileTypes: true });
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const [name, inside] = [`${prefix}${entry.name}`, join(folder, entry.name)];
      if (entry.isDirectory() && !skipped.has(entry.name)) await walk(inside, `${name}/`, depth + 1);
      if (!entry.isFile()) continue;
      if (files.size >= sourceLimits.files) throw tooLarge(`the folder ${path} has more than ${sourceLimits.files} files`);
      const found = await readLimited(inside, Math.min(left, sourceLimits.fileBytes));
      if ("bytes" in found) leftOut.push({ path: name, bytes: found.bytes });
      else {
        left -= found.data.length;
        files.set(name, found.data);
      }
    }
  };
  await walk(path, "", 1);
  return { files, leftOut };
}

/** Reads a file of at most `max` bytes, else returns its size. */
export async function readLimited(path: string, max: number): Promise<{ readonly data: Uint8Array } | { readonly bytes: number }> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  const { size } = await file.stat();
  if (size > max) return { bytes: size };
  const data = Buffer.alloc(max + 1);
  let length = 0;
  while (length < data.length) {
    const { bytesRead } = await file.read(data, length, data.length - length);
    if (bytesRead === 0) return { data: Buffer.from(data.subarray(0, length)) };
    length += bytesRead;
  }
  return { bytes: Math.max(size, length) };
}

/**
 * Returns the files of a zip, tar or tar.gz archive, found by its first bytes; of anything else the bytes themselves, as a file of this name. The paths are not
 * checked. Throws ArchiveError for a damaged archive, and for one that unpacks to more than the limits.
 */
export async function unpackSource(bytes: Uint8Array, name: string): Promise<SourceBytes> {
  if (!startsWith(bytes, gzipMagic)) return unpacked(bytes, name);
  return unpacked(await gunzipped(bytes, name), name.replace(/\.gz$/i, "").replace(/\.tgz$/i, ".tar"));
}

const gzipMagic = [0x1f, 0x8b];

async function unpacked(bytes: Uint8Array, name: string): Promise<SourceBytes> {
  if (bytes.length > sourceLimits.archiveBytes) throw tooLarge(`${name} has more than ${sourceLimits.archiveBytes} bytes`);
  if (startsWith(bytes, [0x50, 0x4b, 0x03, 0x04]) || startsWith(bytes, [0x50, 0x4b, 0x05, 0x06])) return unzipped(bytes, name);
  if (bytes.length >= 512 && Buffer.from(bytes.buffer, bytes.byteOffset + 257, 5).toString("latin1") === "ustar")
    return untarred(bytes, name);
  if (bytes.length > sourceLimits.fileBytes) throw tooLarge(`${name} has more than ${sourceLimits.fileBytes} bytes`);
  return { files: new Map([[name, bytes]]), leftOut: [] };
}

function startsWith(bytes: Uint8Array, wanted: readonly number[]): boolean {
  return wanted.every((byte, at) => bytes[at] === byte);
}

function unzipped(bytes: Uint8Array, name: string): SourceBytes {
  const leftOut: { path: string; bytes: number }[] = [];
  let count = 0;
  try {
    const entries = readZip(bytes, sourceLimits.bytes, (path, size) => {
      if (++count > sourceLimits.files) throw tooLarge(`${name} has more than ${sourceLimits.files} files`);
      if (size > sourceLimits.fileBytes) leftOut.push({ path, bytes: size });
      return size > sourceLimits.fileBytes;
    });
    return { files: new Map(entries.map((entry) => [entry.name, entry.data])), leftOut };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw error.cause instanceof ArchiveError ? error.cause : new ArchiveError("bad_archive", `${name}: ${error.message}`);
  }
}

async function gunzipped(bytes: Uint8Array, name: string): Promise<Uint8Array> {
  try {
    return await promisify(gunzip)(bytes, { maxOutputLength: sourceLimits.bytes });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE")
      throw tooLarge(`${name} unpacks to more than ${sourceLimits.bytes} bytes`);
    throw new ArchiveError("bad_archive", `${name} is damaged: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function untarred(bytes: Uint8Array, name: string): Promise<SourceBytes> {
  const files = new Map<string, Uint8Array>();
  const leftOut: { path: string; bytes: number }[] = [];
  let [count, left] = [0, sourceLimits.bytes as number];
  async function* source() {
    yield Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
  for await (const entry of readTar(source())) {
    if (++count > sourceLimits.files) throw tooLarge(`${name} has more than ${sourceLimits.files} files`);
    if (entry.type !== "0" && entry.type !== "\0") continue;
    const path = Buffer.from(entry.name, "latin1").toString("utf8");
    if (entry.size > sourceLimits.fileBytes) {
      leftOut.push({ path, bytes: entry.size });
      continue;
    }
    left -= entry.size;
    if (left < 0) throw tooLarge(`${name} unpacks to more than ${sourceLimits.bytes} bytes`);
    const parts: Buffer[] = [];
    for await (const part of entry.data()) parts.push(part);
    files.set(path, Buffer.concat(parts));
  }
  return { files, leftOut };
}

function tooLarge(message: string): ArchiveError {
  return new ArchiveError("too_large", message, "import the file of the lab alone");
}
