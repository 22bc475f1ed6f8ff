import { layerDirectories } from "../../images/images.ts";
import { layerRecord } from "./layers.ts";

/** Returns the bytes of all layers of container images. Images share layers, so this is less than the sum of their sizes. */
export async function diskUse(directory: string): Promise<{ readonly bytes: number; readonly layers: number }> {
  const layers = await layerDirectories(directory);
  const sizes = await Promise.all(layers.map(async (layer) => (await layerRecord(directory, layer))?.size_bytes ?? 0));
  return { bytes: sizes.reduce((sum, size) => sum + size, 0), layers: layers.length };
}
