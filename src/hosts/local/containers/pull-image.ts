import { createReadStream } from "node:fs";
import { mkdir, readdir, rm, stat, statfs } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type ImageReference, imageReference } from "../../../engine/model/image-reference.ts";
import { ifThere } from "../../../files/if-there.ts";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import { hasAllLayers, type ImageRecord, imageRecords } from "../images/images.ts";
import { idRange } from "../machine/idmap.ts";
import { download } from "../registries/download.ts";
import { downloads } from "../registries/download-folder.ts";
import { endpointsOf } from "../registries/endpoints.ts";
import { shownReference } from "../registries/permissions.ts";
import { RegistryClient } from "../registries/registry-client.ts";
import type { RegistrySettings } from "../registries/settings.ts";
import { imageName } from "./add-image.ts";
import { unpackLimits } from "./archive/budget.ts";
import { type RemoteImage, type RemoteLayer, readRemoteImage } from "./remote-image.ts";
import { layerDirectory, layerRecord } from "./store/layers.ts";
import {
  type AddedImage,
  chainsOf,
  diskProblem,
  diskReserve,
  exists,
  refuseTooManyLayers,
  type Source,
  storeImage,
} from "./store/store-image.ts";
import { lockFile } from "./store/store-lock.ts";

export interface PullOptions {
  /** As a lab names it; also the name of the image on this machine. */
  readonly reference: string;
  /** The image directory. */
  readonly directory: string;
  /** The state directory, with the passwords of registries. */
  readonly state: string;
  readonly settings: RegistrySettings;
  /** Asks the registry even if the image is on this machine. */
  readonly always: boolean;
  /** The user whose lab needs the image, and who is charged for its size. Absent: the administrator. */
  readonly by?: string | undefined;
  readonly platform: string;
  readonly now: () => Date;
  /** Receives the progress, for people. */
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
  /** Replace the defaults, for tests. */
  readonly reserve?: number;
  readonly retryMs?: number;
  readonly silenceMs?: number;
}

/** Parts of downloads that nobody has continued for this time are removed, ms. */
const maxPartAge = 7 * 24 * 3_600_000;
const parallelDownloads = 3;

/**
 * Pulls an image from its registry, or from a mirror of it, into the image directory. Layers that the machine has are not downloaded. The digests of
 * manifest, configuration and layers are checked, packed and unpacked. Another process that pulls the same layers shares the download. An interrupted
 * pull leaves only parts of downloads, with which the next one continues. Throws ArchiveError, and the signal's reason.
 */
export async function pullImage(options: PullOptions): Promise<AddedImage> {
  const { directory, settings, always, signal } = options;
  const name = imageName(options.reference);
  const reference = imageReference(name, settings.defaultRegistry);
  if ("problem" in reference) {
    throw new ArchiveError(
      "bad_name",
      `${name}: ${reference.problem}`,
      "labwright registry default HOST sets the registry for names without one",
    );
  }
  const before = await known(directory, name);
  if (before !== undefined && !always) return { record: before, unchanged: true, notes: [] };
  if (before !== undefined && before.pulled === undefined) {
    throw new ArchiveError(
      "exists",
      `image ${name} was added from a file, and not pulled`,
      `labwright image remove ${name}, or use pull: missing`,
    );
  }
  await mkdir(join(directory, downloads), { recursive: true, mode: 0o700 });
  await removeOldParts(join(directory, downloads));
  const clients = (await endpointsOf(options.state, settings, reference.registry)).map(
    (endpoint) =>
      new RegistryClient(endpoint, reference.repository, {
        signal,
        ...(options.silenceMs !== undefined && { silenceMs: options.silenceMs }),
      }),
  );
  try {
    const image = await readRemoteImage(clients, reference, options.platform, shownReference(reference));
    if (before !== undefined && before.pulled?.digest === image.digest) return { record: before, unchanged: true, notes: [] };
    return await fetchImage(image, reference, name, options);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

async function fetchImage(image: RemoteImage, reference: ImageReference, name: string, options: PullOptions): Promise<AddedImage> {
  const { directory, settings, by, now, say, signal } = options;
  const idBase = process.getuid?.() === 0 ? idRange.base : undefined;
  refuseTooManyLayers(directory, image.layers.length, settings.limits.layers);
  const bytes = await allowedBytes(image, name, options);
  const folders = chainsOf(image.config.diffIds).map((chain) => join(directory, layerDirectory(chain, idBase ?? 0)));
  const paths = new Set<string>();
  const pulled = { registry: reference.registry, digest: image.digest, ...(by !== undefined && { by }), at: now().toISOString() };
  try {
    // A layer that was there may be removed, with the last image that has it, before this process has the lock: then it is downloaded as well.
    for (let left = 3; ; left--) {
      await downloadLayers(image, folders, paths, options);
      const added = await storeImage(
        {
          directory,
          replace: true,
          idBase,
          limits: { ...unpackLimits, bytes, hint: "an administrator can raise limits in registries.yaml" },
          ...(options.reserve !== undefined && { reserve: options.reserve }),
          pulled,
          waits: true,
          now,
          say: (text) => say(text),
          signal,
        },
        async () => ({ source: sourceOf(image, directory), name }),
      ).catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT" && left > 0) return undefined;
        throw error;
      });
      if (added === undefined) continue;
      for (const path of paths) await rm(path, { force: true });
      return added;
    }
  } catch (error) {
    const problem = diskProblem(error, directory);
    if (problem instanceof ArchiveError && (problem.code === "disk_full" || problem.code === "digest_mismatch")) {
      // Nothing is kept to continue with: the disk is needed for other work, or the bytes are wrong.
      for (const path of paths) for (const file of [path, `${path}.part`]) await rm(file, { force: true });
    }
    throw problem;
  }
}

/** Returns the bytes that the unpacked image may have. Throws too_large and disk_full before anything is downloaded. */
async function allowedBytes(
  { layers }: RemoteImage,
  name: string,
  { directory, settings, by, reserve = diskReserve }: PullOptions,
): Promise<number> {
  const { imageBytes, userBytes } = settings.limits;
  const packed = layers.reduce((sum, { size }) => sum + size, 0);
  if (packed > imageBytes)
    throw new ArchiveError("too_large", `${name} has ${gigabytes(packed)} of layers; here are at most ${gigabytes(imageBytes)}`);
  const { bavail, bsize } = await statfs(directory);
  if (packed + reserve > bavail * bsize) {
    throw new ArchiveError(
      "disk_full",
      `${name} has ${gigabytes(packed)} of layers; the disk of the images has ${gigabytes(bavail * bsize)} free, and ${gigabytes(reserve)} must stay free`,
      "labwright image prune removes unused images",
    );
  }
  if (by === undefined) return imageBytes;
  return Math.min(imageBytes, await allowedOfUser(directory, { by, name, packed, userBytes }));
}

/** Returns the bytes that a user's labs may still bring here. Throws too_large if an image has more. */
export async function allowedOfUser(
  directory: string,
  { by, name, packed, userBytes }: { readonly by: string; readonly name: string; readonly packed: number; readonly userBytes: number },
): Promise<number> {
  const isCharged = ({ pulled, fetched }: ImageRecord) => (fetched?.by ?? pulled?.by) === by;
  const records = [...(await imageRecords(directory)).values()].filter((record) => isCharged(record) && record.name !== name);
  const used = records.reduce((sum, record) => sum + record.size_bytes, 0);
  if (used + packed > userBytes) {
    throw new ArchiveError(
      "too_large",
      `${by} has pulled ${gigabytes(used)} of images; with ${name} they were more than ${gigabytes(userBytes)}`,
      "an administrator removes unused images with labwright image prune, or raises limits.user-bytes in registries.yaml",
    );
  }
  return userBytes - used;
}

function gigabytes(bytes: number): string {
  return bytes < 1e8 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
}

/** Downloads the layers whose folders do not exist. Adds the path of each downloaded file to `paths`. */
async function downloadLayers(image: RemoteImage, folders: readonly string[], paths: Set<string>, options: PullOptions): Promise<void> {
  const { directory, say, signal, retryMs } = options;
  const missing: { readonly layer: RemoteLayer; readonly folder: string }[] = [];
  for (const [i, layer] of image.layers.entries()) {
    if (!(await isLayer(folders[i]!)) && !missing.some((one) => one.layer.digest === layer.digest))
      missing.push({ layer, folder: folders[i]! });
  }
  const total = missing.reduce((sum, { layer }) => sum + layer.size, 0);
  const bytes = new Map<string, number>();
  let done = 0;
  const report = () => {
    const have = [...bytes.values()].reduce((sum, count) => sum + count, 0);
    say(`downloaded ${megabytes(have)} of ${megabytes(total)}, ${done} of ${missing.length} layers`);
  };
  const stop = new AbortController();
  const all = AbortSignal.any([signal, stop.signal]);
  const queue = [...missing];
  const work = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { layer, folder } = next;
      const path = blobPath(directory, layer.digest);
      paths.add(path);
      await using _lock = await lockFile(`${path}.lock`, all);
      // Another process was faster.
      if (!(await isLayer(folder)) && !(await exists(path))) {
        const onBytes = (count: number) => {
          bytes.set(layer.digest, count);
          report();
        };
        await download(layer, { clients: image.clients, path, signal: all, onBytes, retryMs });
      }
      bytes.set(layer.digest, layer.size);
      done++;
      report();
    }
  };
  const workers = Array.from({ length: Math.min(parallelDownloads, queue.length) }, () =>
    work().catch((error: unknown) => {
      // The first failure ends the others, which keep their parts.
      stop.abort(error);
      throw error;
    }),
  );
  const [failed] = (await Promise.allSettled(workers)).filter((one) => one.status === "rejected");
  if (failed !== undefined) throw stop.signal.reason ?? failed.reason;
}

async function isLayer(folder: string): Promise<boolean> {
  return (await layerRecord(dirname(folder), basename(folder))) !== undefined;
}

function sourceOf(image: RemoteImage, directory: string): Source {
  return {
    name: undefined,
    container: image.config.container,
    description: `container image for ${image.config.platform}`,
    layers: image.layers.map(({ digest }, i) => ({
      what: `layer sha256:${digest}`,
      diffId: image.config.diffIds[i]!,
      isChecked: true,
      digest,
      read: () => createReadStream(blobPath(directory, digest)),
    })),
  };
}

function blobPath(directory: string, digest: string): string {
  return join(directory, downloads, digest);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Returns the image of this name, if all of its layers are there. */
async function known(directory: string, name: string): Promise<ImageRecord | undefined> {
  const found = [...(await imageRecords(directory)).values()].find((record) => record.container !== undefined && record.name === name);
  return found !== undefined && (await hasAllLayers(directory, found)) ? found : undefined;
}

/** Removes parts of downloads that are older than the given time. Returns their bytes. */
export async function removeOldParts(folder: string, { maxAge = maxPartAge } = {}): Promise<number> {
  let bytes = 0;
  for (const name of (await ifThere(readdir(folder))) ?? []) {
    const path = join(folder, name);
    const found = await ifThere(stat(path));
    if (found === undefined || Date.now() - found.mtimeMs < maxAge) continue;
    bytes += found.size;
    await rm(path, { force: true });
  }
  return bytes;
}

/** The folder of downloads in an image directory. */
export function downloadFolder(directory: string): string {
  return join(directory, downloads);
}
