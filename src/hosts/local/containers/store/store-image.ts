import { createHash } from "node:crypto";
import { chmod, chown, lstat, mkdir, readdir, rename, rm, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ArchiveError } from "../../../../files/tar/archive-error.ts";
import { writeFileAtomic } from "../../../../files/write-file-atomic.ts";
import {
  type ContainerConfig,
  type FetchedFrom,
  hasAllLayers,
  type ImageRecord,
  imageRecords,
  type PulledFrom,
} from "../../images/images.ts";
import { Budget, type UnpackLimits } from "../archive/budget.ts";
import { type Bytes, decompressed } from "../archive/decompress.ts";
import { chainId, type LayerRecord, layerDirectory, layerRecord, removeDamagedLayer, removeUnusedLayers } from "./layers.ts";
import { removeTree } from "./remove-tree.ts";
import { lockImages } from "./store-lock.ts";
import { unpackLayer } from "./unpack-layer.ts";

/** The image to unpack, independent of the form of its archive. */
export interface Source {
  readonly name: string | undefined;
  readonly container: ContainerConfig;
  readonly description: string;
  /** The lowest first. */
  readonly layers: readonly SourceLayer[];
}

export interface SourceLayer {
  readonly what: string;
  readonly diffId: string;
  /** The digest comes from the image, not from the layer itself, so that it shows a layer that is cut off. */
  readonly isChecked: boolean;
  /** Digest of the bytes that `read` returns. */
  readonly digest: string | undefined;
  /** Another machine has packed its layer again: the digest of the bytes is checked, and they have not that of the image's configuration. */
  readonly isRepacked?: true;
  readonly read: () => Bytes;
}

export interface StoreOptions {
  /** The image directory. Created if it is missing. */
  readonly directory: string;
  /** Replaces an image of the same name. */
  readonly replace: boolean;
  /** The id on disk of the trees' root user (see idmap.ts). `undefined` if this process is not root. */
  readonly idBase: number | undefined;
  readonly limits: UnpackLimits;
  /** Bytes that an unpacked image must leave free. Default: 256 MiB. */
  readonly reserve?: number | undefined;
  /** The origin of a pulled image. */
  readonly pulled?: PulledFrom | undefined;
  /** The machine of the fleet that the image comes from. */
  readonly fetched?: FetchedFrom | undefined;
  /** Waits for another process that changes the image directory, instead of failing with busy. */
  readonly waits?: boolean | undefined;
  readonly now: () => Date;
  readonly say: (text: string) => void;
  readonly signal?: AbortSignal | undefined;
}

export interface AddedImage {
  readonly record: ImageRecord;
  /** An identical image existed. */
  readonly unchanged: boolean;
  /** Describes for users the parts that were left out. */
  readonly notes: readonly string[];
}

export const diskReserve = 256 * 1024 ** 2;
/** Maximum bytes of all layer paths: the options of an overlay mount must fit into a page. */
const maxPaths = 3400;

/**
 * Unpacks an image into the image directory, layer by layer; existing layers are shared. Every known digest is checked. With `replace`, an image of the
 * same name is replaced: nodes use the new one from their next start. The image becomes visible when its record is renamed into place; the next call
 * removes the remains of an interrupted one. Throws ArchiveError.
 * @param open returns the image and its name; receives the limits that the disk leaves, and a directory that is removed afterwards
 */
export async function storeImage(
  options: StoreOptions,
  open: (limits: UnpackLimits, work: string) => Promise<{ readonly source: Source; readonly name: string }>,
): Promise<AddedImage> {
  const { directory } = options;
  await mkdir(directory, { recursive: true, mode: 0o755 });
  await using _lock = await lockImages(directory, options.waits === true ? (options.signal ?? new AbortController().signal) : undefined);
  await removeAbandoned(directory);
  const work = join(directory, `.add-${process.pid}`);
  try {
    await mkdir(work, { mode: 0o700 });
    const free = await statfs(directory);
    const room = Math.max(0, free.bavail * free.bsize - (options.reserve ?? diskReserve));
    const limits = { ...options.limits, bytes: Math.min(options.limits.bytes, room) };
    const { source, name } = await open(limits, work);
    return await unpack(source, name, new Budget(limits), work, options);
  } catch (error) {
    throw diskProblem(error, directory);
  } finally {
    removeTree(Buffer.from(work));
    await removeUnusedLayers(directory);
  }
}

/** Converts the error of a full disk. */
export function diskProblem(error: unknown, directory: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== "ENOSPC" && code !== "EDQUOT") return error;
  return new ArchiveError(
    "disk_full",
    `the disk of ${directory} is full: the image was not added`,
    "labwright image prune removes unused images",
  );
}

/** Throws too_large if an overlay mount cannot have this many layers. */
export function refuseTooManyLayers(directory: string, count: number, most = Number.POSITIVE_INFINITY): void {
  const pathBytes = Buffer.byteLength(join(directory, layerDirectory("", 0), "rootfs")) + 1;
  const limit = Math.min(most, Math.floor(maxPaths / pathBytes));
  if (count <= limit) return;
  throw new ArchiveError(
    "too_large",
    `the image has ${count} layers; here are at most ${limit}`,
    "build it with fewer, or export its root file system",
  );
}

async function unpack(source: Source, name: string, budget: Budget, work: string, options: StoreOptions): Promise<AddedImage> {
  const { directory, idBase, say, signal } = options;
  const ids = idBase ?? 0;
  const made: { readonly directory: string; readonly record: LayerRecord }[] = [];
  const left = { devices: 0, xattrs: 0, strangers: 0 };
  refuseTooManyLayers(directory, source.layers.length);
  const chains = chainsOf(source.layers.map(({ diffId }) => diffId));
  const layers = chains.map((chain) => layerDirectory(chain, ids)).reverse();
  const digest = createHash("sha256")
    .update(JSON.stringify([name, source.container, layers]))
    .digest("hex");
  const others = [...(await imageRecords(directory))].filter(([, other]) => other.container !== undefined && other.name === name);
  const same = others.find(([, other]) => other.digest === digest);
  if (same !== undefined && (await hasAllLayers(directory, same[1])))
    return { record: await withOrigin(directory, same, options.pulled), unchanged: true, notes: [] };
  if (others.some((one) => one !== same) && !options.replace) {
    throw new ArchiveError("exists", `there is another image ${name}`, "--replace takes its place, --name gives this one another name");
  }
  for (const [i, layer] of source.layers.entries()) {
    signal?.throwIfAborted();
    const chain = chains[i]!;
    const entry = layerDirectory(chain, ids);
    const known = await layerRecord(directory, entry);
    if (known !== undefined) {
      say(`layer ${i + 1} of ${source.layers.length} is there`);
      made.push({ directory: entry, record: known });
      continue;
    }
    if (await exists(join(directory, entry))) await removeDamagedLayer(directory, entry);
    say(`unpacking layer ${i + 1} of ${source.layers.length}`);
    const home = join(work, entry);
    const root = join(home, "rootfs");
    await mkdir(root, { recursive: true, mode: 0o755 });
    await chmod(root, 0o755);
    if (idBase !== undefined) await chown(root, idBase, idBase);
    const packed = createHash("sha256");
    const plain = createHash("sha256");
    const stream = hashing(decompressed(hashing(layer.read(), packed, signal), layer.what, budget.limits), plain);
    const lower = made.map((one) => join(directory, one.directory, "rootfs")).reverse();
    const done = await unpackLayer(stream, { root, lower, idBase, budget, mayLackEnd: layer.isChecked, signal });
    if (layer.digest !== undefined && packed.digest("hex") !== layer.digest) {
      throw new ArchiveError("digest_mismatch", `${layer.what} does not match its digest`, "the archive is damaged: download it again");
    }
    if (layer.isRepacked !== true && plain.digest("hex") !== layer.diffId) {
      throw new ArchiveError(
        "digest_mismatch",
        `${layer.what} does not match the digest in the image's configuration`,
        "the archive is damaged: download it again",
      );
    }
    const record: LayerRecord = { chain, diff_id: layer.diffId, size_bytes: done.bytes, entries: done.entries, id_base: ids };
    await writeFile(join(home, "layer.json"), `${JSON.stringify(record, null, 2)}\n`);
    await chmod(home, 0o755);
    await rename(home, join(directory, entry));
    made.push({ directory: entry, record });
    left.devices += done.devices;
    left.xattrs += done.xattrs;
    left.strangers += done.strangers;
  }
  const record: ImageRecord = {
    name,
    description: source.description,
    recipe: "",
    digest,
    layers,
    packages: {},
    size_bytes: made.reduce((sum, one) => sum + one.record.size_bytes, 0),
    created: options.now().toISOString(),
    id_base: ids,
    container: source.container,
    ...(options.pulled === undefined ? {} : { pulled: options.pulled }),
    ...(options.fetched === undefined ? {} : { fetched: options.fetched }),
  };
  const entry = `container-${digest.slice(0, 12)}`;
  const home = join(work, entry);
  await mkdir(home);
  await writeFile(join(home, "image.json"), `${JSON.stringify(record, null, 2)}\n`);
  await chmod(home, 0o755);
  // The directory exists if its record is damaged, or lacked a layer.
  await rm(join(directory, entry), { recursive: true, force: true });
  await rename(home, join(directory, entry));
  for (const [other] of others) if (other !== entry) await rm(join(directory, other), { recursive: true });
  return { record, unchanged: false, notes: notes(left) };
}

function notes(left: { readonly devices: number; readonly xattrs: number; readonly strangers: number }): readonly string[] {
  return [
    ...(left.devices > 0 ? [`${left.devices} device nodes were left out: a node has its own /dev`] : []),
    ...(left.xattrs > 0 ? [`${left.xattrs} extended attributes were left out; file capabilities would have no effect in a node`] : []),
    ...(left.strangers > 0 ? [`${left.strangers} owners above 65535 became nobody (65534)`] : []),
  ];
}

/** Records that an existing image is also the present one of its registry. */
async function withOrigin(
  directory: string,
  [entry, record]: readonly [string, ImageRecord],
  pulled: PulledFrom | undefined,
): Promise<ImageRecord> {
  if (pulled === undefined || record.pulled?.digest === pulled.digest) return record;
  const now = { ...record, pulled };
  await writeFileAtomic(join(directory, entry, "image.json"), `${JSON.stringify(now, null, 2)}\n`, 0o644);
  return now;
}

/** Returns the chain id of each layer, from the diff ids, lowest first. */
export function chainsOf(diffIds: readonly string[]): readonly string[] {
  const chains: string[] = [];
  for (const diffId of diffIds) chains.push(chainId(chains.at(-1), diffId));
  return chains;
}

export async function* hashing(source: Bytes, hash: ReturnType<typeof createHash>, signal?: AbortSignal): Bytes {
  for await (const chunk of source) {
    signal?.throwIfAborted();
    hash.update(chunk);
    yield chunk;
  }
}

/** Removes the remains of interrupted calls. The caller holds the lock, so no other call is running. */
async function removeAbandoned(directory: string): Promise<void> {
  for (const entry of await readdir(directory)) if (entry.startsWith(".add-")) removeTree(Buffer.from(join(directory, entry)));
}

export async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
}
