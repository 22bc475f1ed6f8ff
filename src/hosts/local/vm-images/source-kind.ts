import { readdir, stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import { unpackLimits } from "../containers/archive/budget.ts";
import { decompressed } from "../containers/archive/decompress.ts";
import { openPlain } from "./copy-in.ts";
import { type DiskFormat, formatOf, headBytes } from "./disk-format.ts";

const diskName = /\.(qcow2?|vmdk|ova|iso|img|raw|vdi|vhdx?)(\.(gz|xz|zst))?$/i;

/** Names of OVAs. */
export const ovaName = /\.ova(\.(gz|xz|zst))?$/i;

/**
 * Returns whether a file, or a directory, has a virtual machine's disks and no container image. The content decides. A file of neither kind counts by its name, so that
 * the refusal is about the right kind.
 */
export async function isVmSource(path: string): Promise<boolean> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    throw error;
  });
  if (found === undefined) return diskName.test(path);
  if (found.isDirectory()) {
    const names = await readdir(path);
    return !names.includes("oci-layout") && names.some((name) => diskName.test(name));
  }
  if (!found.isFile()) return false;
  const format = formatOf(await firstBytes(path));
  return format === undefined || format === "zip" || format === "7z" || format === "tar" ? isNamed(path, format) : true;
}

/** A tar archive counts as an OVA by its name, so that one without a description at its beginning is refused as an OVA. */
function isNamed(path: string, format: DiskFormat | undefined): boolean {
  return format === "tar" ? ovaName.test(path) : diskName.test(path);
}

/** Returns the first bytes of a file after decompression; what is readable of them, if it is damaged. */
async function firstBytes(path: string): Promise<Buffer> {
  await using file = await openPlain(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0);
  const stream = Readable.from([buffer.subarray(0, bytesRead)], { objectMode: true });
  const parts: Buffer[] = [];
  try {
    for await (const chunk of decompressed(stream, path, unpackLimits)) parts.push(Buffer.from(chunk));
  } catch (error) {
    // The first bytes alone are cut off for a decompressor. The reader of the file's kind refuses one that is.
    if (!(error instanceof ArchiveError)) throw error;
  }
  return Buffer.concat(parts).subarray(0, headBytes);
}
