import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import type { LabwrightClient } from "../../client/index.ts";
import { capturesFolder, labFolder } from "../../files/lab-archive/manifest.ts";
import { sourceLimits } from "../../files/source/read-source.ts";
import type { ProjectFile } from "../command/project.ts";

/** The files of an archive, and the captures that are too large for it. */
export interface PackedLab {
  readonly lab: string;
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly leftOut: readonly string[];
}

/** Returns a lab's file and the files that it names. */
export function packFile({ yaml, files }: Pick<ProjectFile, "yaml" | "files">): {
  readonly lab: string;
  readonly files: Map<string, Uint8Array>;
} {
  let name = "lab.yaml";
  while (Object.hasOwn(files, name)) name = `_${name}`;
  const packed = new Map(Object.entries(files).map(([path, text]) => [`${labFolder}/${path}`, Buffer.from(text) as Uint8Array]));
  packed.set(`${labFolder}/${name}`, Buffer.from(yaml));
  return { lab: `${labFolder}/${name}`, files: packed };
}

/** Downloads the captures of a lab. Those that an import would not read are left out. */
export async function packCaptures(
  client: LabwrightClient,
  lab: string,
  used: number,
): Promise<{ readonly files: ReadonlyMap<string, Uint8Array>; readonly leftOut: readonly string[] }> {
  const { captures } = await client.listCaptures({ lab });
  const files = new Map<string, Uint8Array>();
  const leftOut: string[] = [];
  let left = sourceLimits.bytes - used;
  for (const { capture, node, interface: face, size_bytes: size = 0 } of captures) {
    const title = `capture ${capture} of ${node}:${face}`;
    if (size > Math.min(left, sourceLimits.fileBytes)) {
      leftOut.push(`${title}: ${size} bytes`);
      continue;
    }
    const { body } = await client.downloadCapture({ id: capture });
    const data = await buffer(body as Readable);
    if (data.length > Math.min(left, sourceLimits.fileBytes)) {
      leftOut.push(`${title}: ${data.length} bytes`);
      continue;
    }
    left -= data.length;
    files.set(`${capturesFolder}/${`${node}-${face}-${capture}`.replaceAll(/[^A-Za-z0-9._-]/g, "-")}.pcapng`, data);
  }
  return { files, leftOut };
}
