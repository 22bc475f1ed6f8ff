import type { LabwrightClient, ResultOf } from "../../client/index.ts";
import type { Manifest } from "../../files/lab-archive/manifest.ts";
import { readDiskArchive } from "./disk-archive.ts";

const partBytes = 3 * 1024 * 1024;

/**
 * Uploads the disks of an archive for a lab at this path. Continues an upload that was interrupted. Throws ArchiveError for a damaged archive.
 * @param manifest of the archive, whose digests were compared
 * @param progress receives the bytes that the service has
 */
export async function uploadDisks(
  client: LabwrightClient,
  { archive, manifest, lab }: { readonly archive: string; readonly manifest: Manifest; readonly lab: string },
  progress: (bytes: number) => void,
): Promise<ResultOf<"finishDiskImport">> {
  const disks = manifest.disks ?? [];
  const announced = disks.map(({ path, ...disk }) => {
    const { sha256, bytes } = manifest.files[path] ?? { sha256: "", bytes: 0 };
    return { ...disk, sha256, size_bytes: bytes };
  });
  const { transfer: id, disks: begun } = await client.importDisks({ lab, disks: announced });
  const received = new Map(begun.map(({ node, received_bytes: bytes }) => [node, bytes]));
  const total = () => [...received.values()].reduce((sum, bytes) => sum + bytes, 0);
  await readDiskArchive(archive, async (path, data) => {
    const node = disks.find((disk) => disk.path === path)?.node ?? "";
    let at = 0;
    for await (const part of partsOf(data)) {
      const end = at + part.length;
      const have = received.get(node) ?? 0;
      if (have < end) {
        const rest = part.subarray(Math.max(0, have - at));
        const { received_bytes: now } = await client.uploadDiskPart({ id, node, offset: have, base64: rest.toString("base64") });
        if (now < end) throw new Error(`the service has ${now} bytes of the disk of node ${node}, not ${end}: another upload runs`);
        received.set(node, now);
        progress(total());
      }
      at = end;
    }
  });
  return client.finishDiskImport({ id });
}

async function* partsOf(data: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of data) {
    parts.push(Buffer.from(chunk));
    length += chunk.length;
    if (length < partBytes) continue;
    yield Buffer.concat(parts);
    [parts, length] = [[], 0];
  }
  if (length > 0) yield Buffer.concat(parts);
}
