import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { createGunzip } from "node:zlib";
import { compareEntry, damaged, type Manifest, manifestName, readManifest } from "../../files/lab-archive/manifest.ts";
import { type UnpackedLab, unpackLab } from "../../files/lab-archive/unpack-lab.ts";
import { sourceLimits } from "../../files/source/read-source.ts";
import { ArchiveError } from "../../files/tar/archive-error.ts";
import { readTar, type TarEntry } from "../../files/tar/tar-reader.ts";

/** An archive whose disks are too large for memory. */
export interface DiskArchive {
  readonly lab: UnpackedLab;
  readonly manifest: Manifest;
}

const maxManifestBytes = 4 * 1024 * 1024;

/**
 * Reads an archive with disks as a stream, and compares the digest of each file. Returns `undefined` if the file is something else, which has been read only as
 * far as its first entry. Throws ArchiveError for a damaged archive.
 * @param onDisk receives the bytes of each disk; without it they are only compared
 */
export async function readDiskArchive(
  path: string,
  onDisk?: (disk: string, data: AsyncIterable<Buffer>) => Promise<void>,
): Promise<DiskArchive | undefined> {
  await using file = await open(path, "r");
  const { buffer: magic } = await file.read(Buffer.alloc(2), 0, 2, 0);
  const raw = file.createReadStream({ start: 0, autoClose: false, highWaterMark: 1 << 20 });
  const isPacked = magic[0] === 0x1f && magic[1] === 0x8b;
  const source: AsyncIterable<Buffer> = isPacked ? raw.on("error", (error) => gunzip.destroy(error)).pipe(createGunzip()) : raw;
  const gunzip = source as ReturnType<typeof createGunzip>;
  let manifest: Manifest | undefined;
  let isOurs = false;
  const files = new Map<string, Uint8Array>();
  const seen = new Set<string>();
  const state = { left: sourceLimits.bytes as number };
  try {
    for await (const entry of readTar(source)) {
      const name = Buffer.from(entry.name, "latin1").toString("utf8");
      if (manifest === undefined) {
        if (name !== manifestName || entry.size > maxManifestBytes) return undefined;
        isOurs = true;
        const text = await inMemory(entry);
        manifest = readManifest(text);
        if (manifest.version === 1) return undefined;
        files.set(manifestName, text);
        continue;
      }
      if (seen.has(name)) throw damaged(`${name} is in it twice`);
      seen.add(name);
      await readEntry(entry, name, { manifest, files, onDisk, state });
    }
  } catch (error) {
    if (!isOurs) return undefined;
    throw error instanceof ArchiveError || (error as NodeJS.ErrnoException).code?.startsWith("Z_") !== true
      ? error
      : damaged((error as Error).message);
  }
  if (manifest === undefined) return undefined;
  const missing = manifest.disks?.find(({ path: disk }) => !seen.has(disk));
  if (missing !== undefined) throw damaged(`${missing.path} is missing`);
  const lab = unpackLab({ files, leftOut: [] });
  if (lab === undefined) return undefined;
  return { lab, manifest };
}

interface Reading {
  readonly manifest: Manifest;
  readonly files: Map<string, Uint8Array>;
  readonly onDisk: ((disk: string, data: AsyncIterable<Buffer>) => Promise<void>) | undefined;
  /** Bytes that may still be read into memory. */
  readonly state: { left: number };
}

async function readEntry(entry: TarEntry, name: string, { manifest, files, onDisk, state }: Reading): Promise<void> {
  const listed = Object.hasOwn(manifest.files, name) ? manifest.files[name] : undefined;
  if (listed === undefined) throw damaged(`${name} is not in the manifest`);
  if (manifest.disks?.some(({ path }) => path === name) !== true) {
    state.left -= entry.size;
    if (state.left < 0) throw new ArchiveError("too_large", `the files beside the disks have more than ${sourceLimits.bytes} bytes`);
    files.set(name, await inMemory(entry));
    return;
  }
  const hash = createHash("sha256");
  let bytes = 0;
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const chunk of entry.data()) {
      hash.update(chunk);
      bytes += chunk.length;
      yield chunk;
    }
  }
  const data = counted();
  await onDisk?.(name, data);
  for await (const _rest of data);
  compareEntry(name, { sha256: hash.digest("hex"), bytes }, listed);
}

async function inMemory(entry: TarEntry): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of entry.data()) parts.push(Buffer.from(part));
  return Buffer.concat(parts);
}
