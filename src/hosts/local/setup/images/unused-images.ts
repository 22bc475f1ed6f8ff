import { join } from "node:path";
import { mountedPaths } from "../../files/mounted-paths.ts";
import { findImages, imageRecords } from "../../images/images.ts";

/**
 * Returns the directory names of set-up's builds that are replaced by newer builds and not mounted by any process. A running node keeps the build
 * with which it started.
 */
export async function unusedImages(directory: string): Promise<readonly string[]> {
  const current = (await findImages(directory)).flatMap((image) => image.layers);
  const mounted = await mountedPaths();
  return [...(await imageRecords(directory))].flatMap(([entry, { container }]) => {
    if (container !== undefined) return [];
    const rootfs = join(directory, entry, "rootfs");
    return current.includes(rootfs) || mounted.some((text) => text.includes(rootfs)) ? [] : [entry];
  });
}
