import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { lstat, open } from "node:fs/promises";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import { type ArchiveFiles, directoryFiles, tarFiles } from "./archive/archive-files.ts";
import type { UnpackLimits } from "./archive/budget.ts";
import { type Bytes, decompressed } from "./archive/decompress.ts";
import { shellConfig } from "./image-config.ts";
import { localStore, type StoredImage, savedImage } from "./local-stores.ts";
import { type ArchivedImage, readImage } from "./read-image.ts";
import { type AddedImage, hashing, type Source, type StoreOptions, storeImage } from "./store/store-image.ts";

export interface AddOptions extends Omit<StoreOptions, "pulled" | "waits"> {
  /**
   * A tar, packed or not, of `docker save`, of an OCI layout or of a root file system; the directory of an OCI layout; or an image of a local store,
   * such as docker-daemon:alpine (local-stores.ts).
   */
  readonly file: string;
  /** Name of the image. Default: the name in the archive, or else of the file. */
  readonly name?: string | undefined;
  /** Selects one of several images in the archive by its name. */
  readonly ref?: string | undefined;
  /** "linux/amd64". */
  readonly platform: string;
}

/** Adds the image of a container archive. Throws ArchiveError. */
export function addImage(options: AddOptions): Promise<AddedImage> {
  return storeImage(options, async (limits, work) => {
    const stored = localStore(options.file);
    const source = stored === undefined ? await openSource(options, limits, work) : await openStored(options, stored, limits, work);
    return { source, name: imageName(options.name ?? stored?.name ?? source.name ?? fileName(options.file)) };
  });
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
      `${options.file} is not an OCI layout: it has no oci-layout and index.json`,
      "a root file system is added as a tar of it",
    );
  }
  // A pipe by its name may have no writer, and its open would never end. A link may lead to one of the shell, such as /dev/fd/63, which has one.
  if (!found.isFile() && !found.isSymbolicLink())
    throw new ArchiveError("bad_archive", `${options.file} is neither a file nor a directory`, "write its content to a file first");
  const { plain, digest } = await plainTar(createReadStream(options.file), options, limits, work);
  await refuseUnlessTar(plain, options.file);
  const files = await tarFiles(plain);
  const image = await readImage(files, choice);
  if (image !== undefined) return imageSource(image, files);
  if (options.ref !== undefined)
    throw new ArchiveError("bad_archive", `${options.file} is a root file system: it has no images to choose from with --ref`);
  const layer = { what: options.file, diffId: digest, isChecked: false, digest: undefined, read: () => createReadStream(plain) };
  return { name: undefined, container: shellConfig, description: "root file system", layers: [layer] };
}

/** Throws bad_archive for a file that is not a tar archive from its first byte on. A damaged or empty one is left to the reader of archives. */
async function refuseUnlessTar(plain: string, file: string): Promise<void> {
  await using opened = await open(plain, "r");
  const { buffer: head, bytesRead } = await opened.read(Buffer.alloc(512), 0, 512, 0);
  const sum = head.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 0x20 : byte), 0);
  const isTar = head.toString("latin1", 257, 262) === "ustar" || Number.parseInt(head.toString("latin1", 148, 156), 8) === sum;
  if (isTar || bytesRead < 512 || head.every((byte) => byte === 0)) return;
  throw new ArchiveError(
    "bad_archive",
    `${file} is neither a container image nor a disk: its content is of no kind that is read`,
    "labwright image --help lists what FILE can be",
  );
}

/** Reads an image that docker or podman writes as an archive. */
async function openStored(options: AddOptions, stored: StoredImage, limits: UnpackLimits, work: string): Promise<Source> {
  const { plain } = await plainTar(savedImage(stored, options.signal), options, limits, work);
  const files = await tarFiles(plain);
  const image = await readImage(files, { platform: options.platform, ref: options.ref });
  if (image === undefined) throw new ArchiveError("bad_archive", `${stored.program} saved no image of ${stored.name}`);
  return imageSource(image, files);
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
      isChecked: true,
      digest,
      read: () => files.read(path),
    })),
  };
}

/** Returns the archive as a plain tar with random access, and its SHA-256. A compressed archive is first decompressed into the work directory. */
async function plainTar(
  packed: Bytes,
  { file, signal }: AddOptions,
  limits: UnpackLimits,
  work: string,
): Promise<{ readonly plain: string; readonly digest: string }> {
  const hash = createHash("sha256");
  const plain = join(work, "archive.tar");
  let size = 0;
  const bounded = async function* (): Bytes {
    for await (const chunk of hashing(decompressed(packed, file, limits), hash, signal)) {
      size += chunk.length;
      if (size > limits.bytes)
        throw new ArchiveError("too_large", `${file} unpacks to more than ${limits.bytes} bytes`, "--max-bytes raises the limit");
      yield chunk;
    }
  };
  await pipeline(bounded, createWriteStream(plain, { flags: "wx", mode: 0o600 }));
  return { plain, digest: hash.digest("hex") };
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
