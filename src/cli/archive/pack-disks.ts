import type { LabwrightClient, ResultOf } from "../../client/index.ts";
import { type ArchivedDisk, disksFolder } from "../../files/lab-archive/manifest.ts";
import type { StreamedFile } from "./write-archive.ts";

type Exported = ResultOf<"exportDisks">;
type ExportedDisk = Exported["disks"][number];

export interface PackedDisks {
  readonly transfer: string;
  readonly bytes: number;
  readonly files: ReadonlyMap<string, StreamedFile>;
  readonly disks: readonly ArchivedDisk[];
}

/** Attempts to continue a download that breaks off without progress. */
const maxRetries = 3;

/** Lets the service copy the disks of a stopped lab. They are downloaded when their files are read; the caller removes the transfer. */
export async function packDisks(client: LabwrightClient, lab: string): Promise<PackedDisks> {
  const { transfer, disks } = await client.exportDisks({ lab });
  const files = new Map<string, StreamedFile>();
  const listed = disks.map((disk, index): ArchivedDisk => {
    const { size_bytes: bytes, sha256, ...about } = disk;
    const path = `${disksFolder}/${index + 1}-${disk.node.replaceAll(/[^A-Za-z0-9._-]/g, "-").slice(0, 80)}.tar`;
    files.set(path, { sha256, bytes, read: () => download(client, transfer, disk) });
    return { path, ...about };
  });
  return { transfer, files, disks: listed, bytes: disks.reduce((sum, { size_bytes: bytes }) => sum + bytes, 0) };
}

async function* download(client: LabwrightClient, id: string, { node, size_bytes: size }: ExportedDisk): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (let left = maxRetries; at < size; ) {
    const before = at;
    try {
      const { body } = await client.downloadDisk({ id, node, offset: String(at) });
      for await (const chunk of body as AsyncIterable<Uint8Array>) {
        at += chunk.length;
        yield chunk;
      }
    } catch (error) {
      if (at === before) throw error;
    }
    if (at > before) left = maxRetries;
    else if (left-- === 0) return;
  }
}
