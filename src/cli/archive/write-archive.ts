import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { type ArchivedDisk, entryOf, type FileEntry, type Manifest, manifestName } from "../../files/lab-archive/manifest.ts";
import { entryHead, tarEnd } from "../../files/tar/tar-writer.ts";
import { UsageError } from "../command/usage-error.ts";
import { fileFailure } from "../project-files/file-failure.ts";

/** A file of an archive that is not in memory. Its digest and size are known before it is read. */
export interface StreamedFile extends FileEntry {
  readonly read: () => AsyncIterable<Uint8Array>;
}

export type PackedFile = Uint8Array | StreamedFile;

/** Returns an archive's files, the manifest first: a reader needs it before everything else. */
export function archiveFiles(
  name: string,
  lab: string,
  files: ReadonlyMap<string, PackedFile>,
  disks: readonly ArchivedDisk[] = [],
): ReadonlyMap<string, PackedFile> {
  const sorted = [...files].sort(([a], [b]) => (a < b ? -1 : 1));
  const manifest: Manifest = {
    format: "labwright-archive",
    version: disks.length === 0 ? 1 : 2,
    name,
    lab,
    files: Object.fromEntries(sorted.map(([path, data]) => [path, listed(data)])),
    ...(disks.length > 0 && { disks }),
  };
  return new Map<string, PackedFile>([[manifestName, Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)], ...sorted]);
}

function listed(file: PackedFile): FileEntry {
  return file instanceof Uint8Array ? entryOf(file) : { sha256: file.sha256, bytes: file.bytes };
}

/** Writes an archive as tar.gz. The same files give the same bytes. The file appears when it is complete. */
export async function writeArchive(path: string, files: ReadonlyMap<string, PackedFile>): Promise<void> {
  const part = `${path}.part`;
  try {
    await pipeline(tarOf(files), createGzip(), createWriteStream(part, { flags: "wx" }));
    await rename(part, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") await rm(part, { force: true });
    throw fileFailure(error, path);
  }
}

async function* tarOf(files: ReadonlyMap<string, PackedFile>): AsyncGenerator<Uint8Array> {
  for (const [path, data] of files) {
    const entry = listed(data);
    yield entryHead({ name: Buffer.from(path).toString("latin1") }, entry.bytes);
    if (data instanceof Uint8Array) yield Buffer.from(data);
    else yield* checkedBytes(path, data);
    yield Buffer.alloc((512 - (entry.bytes % 512)) % 512);
  }
  yield tarEnd;
}

async function* checkedBytes(path: string, file: StreamedFile): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of file.read()) {
    bytes += chunk.length;
    hash.update(chunk);
    yield chunk;
  }
  if (bytes !== file.bytes || hash.digest("hex") !== file.sha256)
    throw new UsageError(`${path} arrived with another SHA-256 digest; nothing was written`, "run the command again");
}
