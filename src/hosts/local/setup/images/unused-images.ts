import { join } from "node:path";
import { mountedPaths } from "../../files/mounted-paths.ts";
import { findImages, imageRecords } from "../../images/images.ts";

/** Directory names of set-up's builds that a newer one has replaced and that no process has mounted: a running node keeps the one it started on. */
export async function unusedImages(directory: string): Promise<readonly string[]> {
  const current = (await findImages(directory)).flatMap((image) => image.layers);
  const mounted = await mountedPaths();
  return [...(await imageRecords(directory))].flatMap(([entry, { container }]) => {
    if (container !== undefined) return [];
    const rootfs = join(directory, entry, "rootfs");
    return current.includes(rootfs) || mounted.some((text) => text.includes(rootfs)) ? [] : [entry];
  });
}
