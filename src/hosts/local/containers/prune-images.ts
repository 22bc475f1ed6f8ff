import { rm } from "node:fs/promises";
import { join } from "node:path";
import { damagedContainers, type ImageRecord, imageRecords } from "../images/images.ts";
import { imageUsers } from "./image-users.ts";
import { downloadFolder, removeOldParts } from "./pull-image.ts";
import { layerRecord, removeUnusedLayers, unusedLayers } from "./store/layers.ts";
import { lockImages } from "./store/store-lock.ts";

export interface PruneOptions {
  /** Also removes images that were added from files, which no registry can give back. */
  readonly all: boolean;
  /** Changes nothing. */
  readonly dry: boolean;
}

export interface Pruned {
  /** Names of the removed images, sorted; of a damaged one, its directory. */
  readonly images: readonly string[];
  /** Bytes on disk: layers that no other image has, and parts of downloads. */
  readonly bytes: number;
}

/**
 * Removes the container images that no lab uses: those that were pulled, or all. Also removes images whose record is damaged, layers without an image, and parts of downloads that nobody
 * continues. A lab that needs a removed image pulls it again.
 */
export async function pruneImages(directory: string, state: string, { all, dry }: PruneOptions): Promise<Pruned> {
  await using _lock = await lockImages(directory);
  const users = await imageUsers(state);
  const isUnused = ({ container, pulled, name }: ImageRecord) =>
    container !== undefined && (all || pulled !== undefined) && users.of(name).length === 0;
  const records = await imageRecords(directory);
  const gone = [...records].filter(([, record]) => isUnused(record));
  const kept = [...records].filter(([, record]) => !isUnused(record)).map(([, record]) => record);
  const layers = await unusedLayers(directory, kept);
  const sizes = await Promise.all(layers.map(async (layer) => (await layerRecord(directory, layer))?.size_bytes ?? 0));
  const damaged = await damagedContainers(directory);
  if (!dry) {
    for (const entry of [...gone.map(([name]) => name), ...damaged]) await rm(join(directory, entry), { recursive: true });
    await removeUnusedLayers(directory);
  }
  const parts = await removeOldParts(downloadFolder(directory), { maxAge: dry ? Number.POSITIVE_INFINITY : partAge });
  return { images: [...gone.map(([, { name }]) => name), ...damaged].sort(), bytes: sizes.reduce((sum, size) => sum + size, parts) };
}

/** A pull that runs writes to its part more often than this, ms. */
const partAge = 3_600_000;
