import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { readVmImage, type VmImage } from "./vm-images.ts";

/** The process that an image is made for, from its configuration. */
export interface ContainerConfig {
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Absolute. */
  readonly workdir: string;
  /** As in the image: user or uid, optionally with ":" and a group or gid; "" is root. */
  readonly user: string;
  /** The signal that asks the process to end; absent for SIGTERM. */
  readonly stopSignal?: number;
}

/** The origin of a pulled image. */
export interface PulledFrom {
  readonly registry: string;
  /** SHA-256 (hex) of the manifest or index that the reference named. */
  readonly digest: string;
  /** The user whose lab was the first to need it. Absent: the administrator pulled it. */
  readonly by?: string;
  /** RFC 3339. */
  readonly at: string;
}

/** The machine of the fleet that an image was fetched from. */
export interface FetchedFrom {
  readonly machine: string;
  /** The user whose lab was the first to need it here. */
  readonly by: string;
  /** RFC 3339. */
  readonly at: string;
}

/** A root file system in the image directory, ready to be an overlay's lower layers. */
export interface LocalImage {
  readonly name: string;
  readonly description: string;
  /** Absolute path of its topmost tree. */
  readonly rootfs: string;
  /** Absolute paths of the read-only overlay layers, top first; the first is rootfs. */
  readonly layers: readonly string[];
  /** Bytes of all its layers. */
  readonly size: number;
  /** When it was built, RFC 3339. */
  readonly modified: string;
  readonly digest: string;
  /** The process of an image from a container archive. Absent: the template of the node boots it. */
  readonly container?: ContainerConfig;
  /** The registry that the image came from. Absent: it came from elsewhere. */
  readonly pulled?: PulledFrom;
  /** The machine of the fleet that it was fetched from. */
  readonly fetched?: FetchedFrom;
  /** The disks and settings of a virtual machine's image. Its files are in the tree of the image. */
  readonly vm?: VmImage;
}

/**
 * image.json beside a rootfs directory: written last, so that a directory without it is not an image. One from a container archive has no tree of
 * its own: all is in its layers, which images of the same base share.
 */
export interface ImageRecord {
  readonly name: string;
  readonly description: string;
  /** SHA-256 (hex) of what the recipe asks for: unchanged recipe, nothing to build. */
  readonly recipe: string;
  /** Its tree is a virtual machine's image. */
  readonly machine?: true;
  /** SHA-256 (hex) of recipe and package versions; its first 12 digits end the directory's name. */
  readonly digest: string;
  /** Directory names of the images below this one, top first. */
  readonly layers: readonly string[];
  /** Package → version. */
  readonly packages: Readonly<Record<string, string>>;
  /** Bytes of its own tree. */
  readonly size_bytes: number;
  readonly created: string;
  /** Outside ids that inside ids start at; 0 if the tree belongs to one ordinary user. */
  readonly id_base: number;
  readonly container?: ContainerConfig;
  readonly pulled?: PulledFrom;
  readonly fetched?: FetchedFrom;
}

/** The content of an image directory. */
export interface ImageDirectory {
  /** The newest complete build of each image, sorted by name. A container image may have the same name as an image that a template boots. */
  readonly images: readonly LocalImage[];
  /** The damaged images, each with the fault and the next step, for people. */
  readonly problems: readonly string[];
}

/** Returns the newest build of each image in `directory`; none if the directory does not exist. Damaged images are left out. */
export async function findImages(directory: string): Promise<readonly LocalImage[]> {
  return (await readImages(directory)).images;
}

/** Returns the images in `directory`, and the damaged ones. */
export async function readImages(directory: string): Promise<ImageDirectory> {
  const { records, damaged } = await readRecords(directory);
  const layers = new Set(await layerDirectories(directory));
  const newest = new Map<string, LocalImage>();
  const problems = [...damaged].map(
    ([entry, fault]) => `${join(directory, entry)} is damaged: ${fault}; ${isContainerEntry(entry) ? pruneHint : setupHint}`,
  );
  for (const [entry, record] of records) {
    const container = record.container;
    const below = record.layers.map((layer) => records.get(layer));
    const lacking = record.layers.filter((layer, i) => (container === undefined ? below[i] === undefined : !layers.has(layer)));
    if (lacking.length > 0) {
      // A base image may still be in the making, or be replaced.
      if (container !== undefined) problems.push(`image ${record.name} lacks ${lacking.join(", ")}: ${againHint(record)}`);
      continue;
    }
    const trees = container === undefined ? [entry, ...record.layers] : record.layers;
    const image: LocalImage = {
      name: record.name,
      description: record.description,
      rootfs: join(directory, trees[0] ?? entry, "rootfs"),
      layers: trees.map((layer) => join(directory, layer, "rootfs")),
      size: [record, ...below].reduce((sum, layer) => sum + (layer?.size_bytes ?? 0), 0),
      modified: record.created,
      digest: record.digest,
      ...(container === undefined ? {} : { container }),
      ...(record.pulled === undefined ? {} : { pulled: record.pulled }),
      ...(record.fetched === undefined ? {} : { fetched: record.fetched }),
      ...(record.machine === true ? { vm: (await readVmImage(join(directory, entry, "rootfs"))).vm } : {}),
    };
    const key = `${container === undefined ? "" : "container "}${image.name}`;
    const other = newest.get(key);
    if (other === undefined || other.modified < image.modified) newest.set(key, image);
  }
  return { images: [...newest.values()].sort((a, b) => (a.name < b.name ? -1 : 1)), problems };
}

const pruneHint = "labwright image prune removes it; then pull or add the image again";
const setupHint = "labwright setup builds it again";

function againHint({ name, pulled }: ImageRecord): string {
  return pulled === undefined ? "add its file again, with labwright image add" : `labwright image pull ${name} gets it again`;
}

/** Names of the directories that hold one layer of container images each. */
export async function layerDirectories(directory: string): Promise<readonly string[]> {
  return (await entriesOf(directory)).filter((entry) => /^layer-[0-9a-f]{24}$/.test(entry)).sort();
}

/** Directory name → record, of every image in `directory` whose record can be read. Its layers may be missing. */
export async function imageRecords(directory: string): Promise<ReadonlyMap<string, ImageRecord>> {
  return (await readRecords(directory)).records;
}

/** Returns the directory names of the container images whose record is damaged. */
export async function damagedContainers(directory: string): Promise<readonly string[]> {
  return [...(await readRecords(directory)).damaged.keys()].filter(isContainerEntry);
}

/** Returns whether all layers of a container image exist. */
export async function hasAllLayers(directory: string, { layers }: Pick<ImageRecord, "layers">): Promise<boolean> {
  const found = new Set(await layerDirectories(directory));
  return layers.every((layer) => found.has(layer));
}

function isContainerEntry(entry: string): boolean {
  return entry.startsWith("container-");
}

async function readRecords(
  directory: string,
): Promise<{ readonly records: ReadonlyMap<string, ImageRecord>; readonly damaged: ReadonlyMap<string, string> }> {
  const records = new Map<string, ImageRecord>();
  const damaged = new Map<string, string>();
  for (const entry of (await entriesOf(directory)).sort()) {
    try {
      const record: unknown = JSON.parse(await readFile(join(directory, entry, "image.json"), "utf8"));
      if (isImageRecord(record)) records.set(entry, record);
      else damaged.set(entry, "image.json does not describe an image");
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT" || code === "ENOTDIR") continue;
      damaged.set(entry, code === undefined ? "image.json is not JSON" : `image.json cannot be read (${code})`);
    }
  }
  return { records, damaged };
}

/** Checks the fields without which an image cannot be found or would lead out of the directory. */
function isImageRecord(value: unknown): value is ImageRecord {
  if (typeof value !== "object" || value === null) return false;
  const { name, layers, digest, created, container } = value as Partial<Record<keyof ImageRecord, unknown>>;
  return (
    [name, digest, created].every((text) => typeof text === "string") &&
    Array.isArray(layers) &&
    layers.every((layer) => typeof layer === "string" && /^\w[\w.-]*$/.test(layer)) &&
    (container === undefined || (typeof container === "object" && container !== null))
  );
}

async function entriesOf(directory: string): Promise<string[]> {
  return readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
}
