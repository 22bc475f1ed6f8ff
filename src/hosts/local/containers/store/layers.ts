import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ArchiveError } from "../../../../files/tar/archive-error.ts";
import { mountedPaths } from "../../files/mounted-paths.ts";
import { damagedContainers, type ImageRecord, imageRecords, layerDirectories } from "../../images/images.ts";
import { removeTree } from "./remove-tree.ts";

/** layer.json in a layer's directory. */
export interface LayerRecord {
  /** OCI's chain id (hex) of the layer and all layers below it. Whiteouts depend on the layers below, so only images with the same base share a layer. */
  readonly chain: string;
  readonly diff_id: string;
  readonly size_bytes: number;
  readonly entries: number;
  readonly id_base: number;
}

/** Returns the SHA-256 (hex) of a layer on top of others. */
export function chainId(below: string | undefined, diffId: string): string {
  return below === undefined ? diffId : createHash("sha256").update(`sha256:${below} sha256:${diffId}`).digest("hex");
}

/** The directory of a layer whose files belong to this range of ids. */
export function layerDirectory(chain: string, idBase: number): string {
  return `layer-${createHash("sha256").update(`${chain} ${idBase}`).digest("hex").slice(0, 24)}`;
}

/** Returns the record of a layer. `undefined` if the layer does not exist, or its record is damaged. */
export async function layerRecord(directory: string, layer: string): Promise<LayerRecord | undefined> {
  try {
    const record = JSON.parse(await readFile(join(directory, layer, "layer.json"), "utf8")) as Partial<LayerRecord> | null;
    return typeof record?.size_bytes === "number" ? (record as LayerRecord) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the layers that none of these images uses and no running node has mounted. */
export async function unusedLayers(directory: string, records: readonly ImageRecord[]): Promise<readonly string[]> {
  const used = new Set(records.flatMap((record) => record.layers));
  const unused = (await layerDirectories(directory)).filter((layer) => !used.has(layer));
  if (unused.length === 0) return [];
  const mounted = await mountedPaths();
  return unused.filter((layer) => !isMounted(mounted, directory, layer));
}

function isMounted(mounted: readonly string[], directory: string, layer: string): boolean {
  return mounted.some((text) => text.includes(join(directory, layer, "rootfs")));
}

/**
 * Removes a layer whose record is damaged, so that it can be unpacked again. The caller must hold the images' lock.
 * @throws ArchiveError in_use if a running node has it mounted
 */
export async function removeDamagedLayer(directory: string, layer: string): Promise<void> {
  if (isMounted(await mountedPaths(), directory, layer)) {
    throw new ArchiveError("in_use", `${join(directory, layer)} is damaged, and running nodes use it`, "stop these nodes, and try again");
  }
  removeTree(Buffer.from(join(directory, layer)));
}

/**
 * Removes the layers that no image uses and no running node has mounted, unless the record of an image is damaged: nobody knows its layers. The caller
 * must hold the images' lock. Returns their names.
 */
export async function removeUnusedLayers(directory: string): Promise<readonly string[]> {
  if ((await damagedContainers(directory)).length > 0) return [];
  const gone = await unusedLayers(directory, [...(await imageRecords(directory)).values()]);
  for (const layer of gone) removeTree(Buffer.from(join(directory, layer)));
  return gone;
}
