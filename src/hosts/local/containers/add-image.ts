import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { chmod, chown, lstat, mkdir, readdir, rename, rm, statfs, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import { type ContainerConfig, type ImageRecord, imageRecords } from "../images/images.ts";
import { type ArchiveFiles, directoryFiles, tarFiles } from "./archive/archive-files.ts";
import { Budget, type UnpackLimits } from "./archive/budget.ts";
import { type Bytes, decompressed } from "./archive/decompress.ts";
import { shellConfig } from "./image-config.ts";
import { chainId, type LayerRecord, layerDirectory, layerRecord, removeUnusedLayers } from "./layers.ts";
import { type ArchivedImage, readImage } from "./read-image.ts";
import { removeTree } from "./remove-tree.ts";
import { lockImages } from "./store-lock.ts";
import { unpackLayer } from "./unpack-layer.ts";

export interface AddOptions {
  /** A tar, packed or not, of `docker save`, of an OCI layout or of a root file system; or the directory of an OCI layout. */
  readonly file: string;
  /** The image directory. Created if it is missing. */
  readonly directory: string;
  /** Name of the image. Default: the name in the archive, or else of the file. */
  readonly name?: string | undefined;
  /** Selects one of several images in the archive by its name. */
  readonly ref?: string | undefined;
  /** Replaces an image of the same name. */
  readonly replace: boolean;
  /** "linux/amd64". */
  readonly platform: string;
  /** The id on disk of the trees' root user (see idmap.ts). `undefined` if this process is not root. */
  readonly idBase: number | undefined;
  readonly limits: UnpackLimits;
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

/** The image to unpack, independent of the form of its archive. */
interface Source {
  readonly name: string | undefined;
  readonly container: ContainerConfig;
  readonly description: string;
  /** The lowest first. */
  readonly layers: readonly SourceLayer[];
}

interface SourceLayer {
  readonly what: string;
  readonly diffId: string;
  /** Digest of the bytes that `read` returns. */
  readonly digest: string | undefined;
  readonly read: () => Bytes;
}

/** Bytes that an unpacked image must leave free. */
const reserve = 256 * 1024 ** 2;
/** Maximum bytes of all layer paths: the options of an overlay mount must fit into a page. */
const maxPaths = 3400;

/**
 * Unpacks a container archive into the image directory, layer by layer; existing layers are shared. Every digest in the archive
 * is checked. With `replace`, an image of the same name is replaced: nodes use the new one from their next start. The image becomes visible
 * when its record is renamed into place; the next call removes the remains of an interrupted one. Throws ArchiveError.
 */
export async function addImage(options: AddOptions): Promise<AddedImage> {
  const { directory } = options;
  await mkdir(directory, { recursive: true, mode: 0o755 });
  await using _lock = await lockImages(directory);
  await removeAbandoned(directory);
  const work = join(directory, `.add-${process.pid}`);
  try {
    await mkdir(work, { mode: 0o700 });
    const free = await statfs(directory);
    const bytes = Math.min(options.limits.bytes, Math.max(0, free.bavail * free.bsize - reserve));
    const limits = { ...options.limits, bytes };
    const source = await openSource(options, limits, work);
    const name = imageName(options.name ?? source.name ?? fileName(options.file));
    return await unpack(source, name, new Budget(limits), work, options);
  } finally {
    removeTree(Buffer.from(work));
    await removeUnusedLayers(directory);
  }
}

async function unpack(source: Source, name: string, budget: Budget, work: string, options: AddOptions): Promise<AddedImage> {
  const { directory, idBase, say, signal } = options;
  const ids = idBase ?? 0;
  const made: { readonly directory: string; readonly record: LayerRecord }[] = [];
  const left = { devices: 0, xattrs: 0, strangers: 0 };
  const pathBytes = Buffer.byteLength(join(directory, layerDirectory("", ids), "rootfs")) + 1;
  if (source.layers.length * pathBytes > maxPaths) {
    const most = Math.floor(maxPaths / pathBytes);
    throw new ArchiveError(
      "too_large",
      `the image has ${source.layers.length} layers; here are at most ${most}`,
      "build it with fewer, or export its root file system",
    );
  }
  const chains: string[] = [];
  for (const { diffId } of source.layers) chains.push(chainId(chains.at(-1), diffId));
  const layers = chains.map((chain) => layerDirectory(chain, ids)).reverse();
  const digest = createHash("sha256")
    .update(JSON.stringify([name, source.container, layers]))
    .digest("hex");
  const others = [...(await imageRecords(directory))].filter(([, other]) => other.container !== undefined && other.name === name);
  const same = others.find(([, other]) => other.digest === digest);
  if (same !== undefined) return { record: same[1], unchanged: true, notes: [] };
  if (others.length > 0 && !options.replace) {
    throw new ArchiveError("exists", `there is another image ${name}`, "--replace takes its place, --name gives this one another name");
  }
  for (const [i, layer] of source.layers.entries()) {
    signal?.throwIfAborted();
    const chain = chains[i]!;
    const entry = layerDirectory(chain, ids);
    if (await exists(join(directory, entry))) {
      say(`layer ${i + 1} of ${source.layers.length} is there`);
      made.push({ directory: entry, record: await layerRecord(directory, entry) });
      continue;
    }
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
    const done = await unpackLayer(stream, { root, lower, idBase, budget, signal });
    if (layer.digest !== undefined && packed.digest("hex") !== layer.digest) {
      throw new ArchiveError("digest_mismatch", `${layer.what} does not match its digest`, "the archive is damaged: download it again");
    }
    if (plain.digest("hex") !== layer.diffId) {
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
  };
  const entry = `container-${digest.slice(0, 12)}`;
  const home = join(work, entry);
  await mkdir(home);
  await writeFile(join(home, "image.json"), `${JSON.stringify(record, null, 2)}\n`);
  await chmod(home, 0o755);
  await rename(home, join(directory, entry));
  for (const [other] of others) await rm(join(directory, other), { recursive: true });
  return { record, unchanged: false, notes: notes(left) };
}

function notes(left: { readonly devices: number; readonly xattrs: number; readonly strangers: number }): readonly string[] {
  return [
    ...(left.devices > 0 ? [`${left.devices} device nodes were left out: a node has its own /dev`] : []),
    ...(left.xattrs > 0 ? [`${left.xattrs} extended attributes were left out; file capabilities would have no effect in a node`] : []),
    ...(left.strangers > 0 ? [`${left.strangers} owners above 65535 became nobody (65534)`] : []),
  ];
}

async function openSource(options: AddOptions, limits: UnpackLimits, work: string): Promise<Source> {
  const choice = { platform: options.platform, ref: options.ref };
  const found = await lstat(options.file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") throw new ArchiveError("not_found", `there is no ${options.file}`);
    throw error;
  });
  if (found.isDirectory()) {
    const files = directoryFiles(options.file);
    const image = await readImage(files, choice);
    if (image !== undefined) return imageSource(image, files);
    throw new ArchiveError(
      "bad_archive",
      `${options.file} is no OCI layout: it has no oci-layout and index.json`,
      "a root file system is added as a tar of it",
    );
  }
  const { plain, digest } = await plainTar(options, limits, work);
  const files = await tarFiles(plain);
  const image = await readImage(files, choice);
  if (image !== undefined) return imageSource(image, files);
  if (options.ref !== undefined)
    throw new ArchiveError("bad_archive", `${options.file} is a root file system: it has no images to choose from with --ref`);
  const layer = { what: options.file, diffId: digest, digest: undefined, read: () => createReadStream(plain) };
  return { name: undefined, container: shellConfig, description: "root file system", layers: [layer] };
}

function imageSource({ name, config, layers }: ArchivedImage, files: ArchiveFiles): Source {
  if (layers.length !== config.diffIds.length) {
    throw new ArchiveError("bad_archive", `the image has ${layers.length} layers, but its configuration lists ${config.diffIds.length}`);
  }
  return {
    name,
    container: config.container,
    description: `container image for ${config.platform}`,
    layers: layers.map(({ path, digest }, i) => ({
      what: `layer ${path}`,
      diffId: config.diffIds[i]!,
      digest,
      read: () => files.read(path),
    })),
  };
}

/** Returns the archive as a plain tar with random access, and its SHA-256. A compressed archive is first decompressed into the work directory. */
async function plainTar(
  { file, signal }: AddOptions,
  limits: UnpackLimits,
  work: string,
): Promise<{ readonly plain: string; readonly digest: string }> {
  const hash = createHash("sha256");
  const packed = join(work, "archive.tar");
  let size = 0;
  const bounded = async function* (): Bytes {
    for await (const chunk of hashing(decompressed(createReadStream(file), file, limits), hash, signal)) {
      size += chunk.length;
      if (size > limits.bytes)
        throw new ArchiveError("too_large", `${file} unpacks to more than ${limits.bytes} bytes`, "--max-bytes raises the limit");
      yield chunk;
    }
  };
  await pipeline(bounded, createWriteStream(packed, { flags: "wx", mode: 0o600 }));
  return { plain: packed, digest: hash.digest("hex") };
}

async function* hashing(source: Bytes, hash: ReturnType<typeof createHash>, signal?: AbortSignal): Bytes {
  for await (const chunk of source) {
    signal?.throwIfAborted();
    hash.update(chunk);
    yield chunk;
  }
}

/** @throws ArchiveError bad_name */
export function imageName(name: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._/:@+-]{0,199}$/.test(name) || name === "default") {
    throw new ArchiveError(
      "bad_name",
      `${JSON.stringify(name)} cannot be the name of an image`,
      "--name gives another: letters, digits and . _ / : @ + -",
    );
  }
  return name;
}

function fileName(file: string): string {
  return basename(file).replace(/\.(tar|tgz|txz|tzst|tar\.(gz|xz|zst))$/, "");
}

/** Removes the remains of interrupted calls. The caller holds the lock, so no other call is running. */
async function removeAbandoned(directory: string): Promise<void> {
  for (const entry of await readdir(directory)) if (entry.startsWith(".add-")) removeTree(Buffer.from(join(directory, entry)));
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
}
