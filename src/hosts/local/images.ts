import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** A root file system in the image directory, ready to be an overlay's lower layers. */
export interface LocalImage {
  readonly name: string;
  readonly description: string;
  /** Absolute path of its own tree. */
  readonly rootfs: string;
  /** Absolute paths of the read-only overlay layers, top first; the first is rootfs. */
  readonly layers: readonly string[];
  /** Bytes of all its layers. */
  readonly size: number;
  /** When it was built, RFC 3339. */
  readonly modified: string;
  readonly digest: string;
}

/** image.json beside a rootfs directory: written last, so that a directory without it is no image. */
export interface ImageRecord {
  readonly name: string;
  readonly description: string;
  /** SHA-256 (hex) of what the recipe asks for: unchanged recipe, nothing to build. */
  readonly recipe: string;
  /** SHA-256 (hex) of recipe and package versions; its first 12 digits end the directory's name. */
  readonly digest: string;
  /** Directory names of the images below this one, top first. */
  readonly layers: readonly string[];
  /** Package → version. */
  readonly packages: Readonly<Record<string, string>>;
  /** Bytes of its own tree. */
  readonly size_bytes: number;
  readonly created: string;
  /** Outside ids that inside ids start at; 0 where the tree belongs to one ordinary user. */
  readonly id_base: number;
}

/** The newest build of each image in `directory`, sorted by name; none where the directory does not exist. */
export async function findImages(directory: string): Promise<readonly LocalImage[]> {
  const records = await imageRecords(directory);
  const newest = new Map<string, LocalImage>();
  for (const [entry, record] of records) {
    const below = record.layers.map((layer) => records.get(layer));
    if (below.includes(undefined)) continue;
    const image: LocalImage = {
      name: record.name,
      description: record.description,
      rootfs: join(directory, entry, "rootfs"),
      layers: [entry, ...record.layers].map((layer) => join(directory, layer, "rootfs")),
      size: [record, ...below].reduce((sum, layer) => sum + (layer?.size_bytes ?? 0), 0),
      modified: record.created,
      digest: record.digest,
    };
    const other = newest.get(image.name);
    if (other === undefined || other.modified < image.modified) newest.set(image.name, image);
  }
  return [...newest.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Directory name → record, of every complete image in `directory`. */
export async function imageRecords(directory: string): Promise<ReadonlyMap<string, ImageRecord>> {
  const records = new Map<string, ImageRecord>();
  for (const entry of (await entriesOf(directory)).sort()) {
    const text = await readFile(join(directory, entry, "image.json"), "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
      throw error;
    });
    if (text !== undefined) records.set(entry, JSON.parse(text) as ImageRecord);
  }
  return records;
}

async function entriesOf(directory: string): Promise<string[]> {
  return readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
}
