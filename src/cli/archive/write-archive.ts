import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { entryOf, type Manifest, manifestName } from "../../files/lab-archive/manifest.ts";
import { entryHead, tarEnd } from "../../files/tar/tar-writer.ts";
import { fileFailure } from "../project-files/file-failure.ts";

/** Returns an archive's files, the manifest first: a reader needs it before everything else. */
export function archiveFiles(name: string, lab: string, files: ReadonlyMap<string, Uint8Array>): ReadonlyMap<string, Uint8Array> {
  const sorted = [...files].sort(([a], [b]) => (a < b ? -1 : 1));
  const manifest: Manifest = {
    format: "labwright-archive",
    version: 1,
    name,
    lab,
    files: Object.fromEntries(sorted.map(([path, data]) => [path, entryOf(data)])),
  };
  return new Map([[manifestName, Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)], ...sorted]);
}

/** Writes an archive as tar.gz. The same files give the same bytes. The file appears when it is complete. */
export async function writeArchive(path: string, files: ReadonlyMap<string, Uint8Array>): Promise<void> {
  const part = `${path}.part`;
  try {
    await pipeline(tarOf(files), createGzip(), createWriteStream(part, { flags: "wx" }));
    await rename(part, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") await rm(part, { force: true });
    throw fileFailure(error, path);
  }
}

function* tarOf(files: ReadonlyMap<string, Uint8Array>): Generator<Buffer> {
  for (const [path, data] of files) {
    yield entryHead({ name: Buffer.from(path).toString("latin1") }, data.length);
    yield Buffer.from(data);
    yield Buffer.alloc((512 - (data.length % 512)) % 512);
  }
  yield tarEnd;
}
