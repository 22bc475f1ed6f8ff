import { createHash } from "node:crypto";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import type { ArchiveFiles } from "./archive/archive-files.ts";
import type { Bytes } from "./archive/decompress.ts";
import { type ImageConfig, parseConfig, record, sha256Of, texts, wrong } from "./image-config.ts";
import { fits } from "./platform.ts";

/** A layer in an archive. */
export interface LayerBlob {
  readonly path: string;
  /** SHA-256 (hex) of the file in the archive, if the archive has its digest. */
  readonly digest: string | undefined;
  readonly size: number;
}

export interface ArchivedImage {
  /** As the archive calls it. */
  readonly name: string | undefined;
  readonly config: ImageConfig;
  /** The layers, lowest first, one for each diff id of the configuration. */
  readonly layers: readonly LayerBlob[];
}

export interface ImageChoice {
  readonly platform: string;
  /** Selects one of several images in the archive by its name. */
  readonly ref: string | undefined;
}

/**
 * Returns the image of an OCI layout or of `docker save`, `undefined` if the files are neither. Throws ArchiveError for a malformed archive, a wrong
 * digest, or if there is no image or more than one for the platform.
 */
export async function readImage(files: ArchiveFiles, choice: ImageChoice): Promise<ArchivedImage | undefined> {
  // docker save writes both forms. Its own manifest has the names that docker shows.
  const saved = await savedManifest(files);
  if (saved !== undefined) return readSaved(files, saved, choice);
  if ((await files.size("index.json")) === undefined || (await files.size("oci-layout")) === undefined) return undefined;
  return readLayout(files, choice);
}

async function savedManifest(files: ArchiveFiles): Promise<readonly unknown[] | undefined> {
  if ((await files.size("manifest.json")) === undefined) return undefined;
  const manifest = await readJson(files, "manifest.json").catch((error) => {
    // The archive is the root file system of a program that has a file of this name.
    if (error instanceof ArchiveError) return undefined;
    throw error;
  });
  const isSaved =
    Array.isArray(manifest) && manifest.length > 0 && manifest.every((one) => typeof one === "object" && one !== null && "Config" in one);
  return isSaved ? manifest : undefined;
}

async function readSaved(files: ArchiveFiles, manifest: readonly unknown[], { platform, ref }: ImageChoice): Promise<ArchivedImage> {
  const images = manifest.map((one, i) => {
    const image = record(one, `manifest.json[${i}]`);
    return { config: image["Config"], layers: texts(image["Layers"], "Layers"), names: texts(image["RepoTags"] ?? [], "RepoTags") };
  });
  const named = images.filter(({ names }) => ref === undefined || names.some((name) => refFits(name, ref)));
  const found: ArchivedImage[] = [];
  for (const { config: path, layers, names } of named) {
    if (typeof path !== "string") throw wrong("Config", "is not a path");
    const digest = hexName(path.replace(/\.json$/, ""));
    const config = parseConfig(await readJson(files, path, digest));
    const blobs = await Promise.all(layers.map((layer) => layerBlob(files, layer, hexName(layer), undefined)));
    found.push({ name: (ref === undefined ? undefined : names.find((name) => refFits(name, ref))) ?? names[0], config, layers: blobs });
  }
  return theOne(
    found.map((image) => ({ name: image.name, platform: image.config.platform, image })),
    images.flatMap(({ names }) => names),
    { platform, ref },
  ).image;
}

interface Descriptor {
  readonly digest: string;
  readonly size: number;
  readonly mediaType: string;
  readonly name: string | undefined;
  readonly platform: string | undefined;
}

async function readLayout(files: ArchiveFiles, choice: ImageChoice): Promise<ArchivedImage> {
  const manifests = await manifestsOf(files, record(await readJson(files, "index.json"), "index.json"), undefined, new Set());
  const named = manifests.filter(({ name }) => choice.ref === undefined || (name !== undefined && refFits(name, choice.ref)));
  const candidates = [];
  for (const descriptor of named) {
    if (descriptor.platform !== undefined && !fits(descriptor.platform, choice.platform)) {
      candidates.push({ name: descriptor.name, platform: descriptor.platform, read: undefined });
      continue;
    }
    const manifest = record(await readBlob(files, descriptor), "the manifest");
    const config = parseConfig(await readBlob(files, descriptorOf(manifest["config"], "config")));
    candidates.push({ name: descriptor.name, platform: config.platform, read: { manifest, config } });
  }
  const chosen = theOne(
    candidates,
    manifests.flatMap(({ name }) => name ?? []),
    choice,
  );
  if (chosen.read === undefined) throw new Error("internal error: the chosen image was not read");
  const layers = chosen.read.manifest["layers"];
  if (!Array.isArray(layers)) throw wrong("layers", "is not a list");
  const blobs = layers.map((layer, i) => {
    const { digest, size, mediaType } = descriptorOf(layer, `layers[${i}]`);
    if (/encrypted/.test(mediaType)) throw wrong(`layers[${i}]`, "is encrypted");
    return layerBlob(files, `blobs/sha256/${digest}`, digest, size);
  });
  return { name: chosen.name, config: chosen.read.config, layers: await Promise.all(blobs) };
}

const maxManifests = 1000;

/** Returns the manifests of an index and its nested indexes. A manifest has the name that its nearest index gives it. */
async function manifestsOf(
  files: ArchiveFiles,
  index: Readonly<Record<string, unknown>>,
  name: string | undefined,
  seen: Set<string>,
): Promise<readonly Descriptor[]> {
  const list = index["manifests"];
  if (!Array.isArray(list)) throw wrong("manifests", "is not a list");
  if (list.length > maxManifests) throw wrong("manifests", "is too long");
  const found: Descriptor[] = [];
  for (const [i, one] of list.entries()) {
    const descriptor = descriptorOf(one, `manifests[${i}]`);
    const named = { ...descriptor, name: descriptor.name ?? name };
    // Attestations of a build are manifests without a platform beside its images.
    if (descriptor.platform?.startsWith("unknown/") === true) continue;
    if (!/index|manifest\.list/.test(descriptor.mediaType)) found.push(named);
    else if (!seen.has(descriptor.digest) && (await files.size(`blobs/sha256/${descriptor.digest}`)) !== undefined) {
      // Reads each index once: indexes that refer to each other would otherwise grow without limit.
      seen.add(descriptor.digest);
      if (seen.size > maxManifests) throw wrong("index.json", "leads through too many indexes");
      found.push(...(await manifestsOf(files, record(await readBlob(files, descriptor), "an index"), named.name, seen)));
    }
  }
  return found;
}

function descriptorOf(value: unknown, place: string): Descriptor {
  const one = record(value, place);
  const { size, mediaType } = one;
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) throw wrong(`${place}.size`, "is not a size");
  const annotations = record(one["annotations"] ?? {}, `${place}.annotations`);
  const name = annotations["io.containerd.image.name"] ?? annotations["org.opencontainers.image.ref.name"];
  const platform = one["platform"] === undefined ? undefined : record(one["platform"], `${place}.platform`);
  const parts = [platform?.["os"], platform?.["architecture"], platform?.["variant"]].filter(
    (part) => typeof part === "string" && part !== "",
  );
  return {
    digest: sha256Of(one["digest"], `${place}.digest`),
    size,
    mediaType: typeof mediaType === "string" ? mediaType : "",
    name: typeof name === "string" ? name : undefined,
    platform: platform === undefined ? undefined : parts.join("/"),
  };
}

function theOne<T extends { readonly name: string | undefined; readonly platform: string }>(
  found: readonly T[],
  names: readonly string[],
  { platform, ref }: ImageChoice,
): T {
  if (found.length === 0) {
    throw new ArchiveError(
      "ambiguous",
      ref === undefined ? "the archive has no image" : `the archive has no image ${ref}`,
      `it has ${listed(names)}`,
    );
  }
  const fitting = found.filter((one) => fits(one.platform, platform));
  const [first] = fitting;
  if (first === undefined) {
    const platforms = listed(found.map((one) => one.platform));
    throw new ArchiveError(
      "wrong_platform",
      `the image is for ${platforms}, not for ${platform}`,
      "an image for this machine's processor is needed",
    );
  }
  if (fitting.length > 1 && new Set(fitting.map(({ name }) => name)).size > 1) {
    throw new ArchiveError(
      "ambiguous",
      `the archive has ${fitting.length} images: ${listed(fitting.map(({ name }) => name ?? "one without a name"))}`,
      "choose one with --ref NAME",
    );
  }
  return first;
}

function listed(names: readonly string[]): string {
  return [...new Set(names)].sort().join(", ") || "none";
}

/** "alpine" also matches docker.io/library/alpine:latest. */
export function refFits(name: string, ref: string): boolean {
  const whole = (text: string) => {
    const bare = text.replace(/^docker\.io\//, "").replace(/^library\//, "");
    return /[:@][^/]*$/.test(bare) ? bare : `${bare}:latest`;
  };
  return name === ref || whole(name) === whole(ref);
}

/** Returns the digest in the path of a blob or of a docker archive. */
function hexName(path: string): string | undefined {
  return /(?:^|\/)([0-9a-f]{64})$/.exec(path)?.[1];
}

async function layerBlob(files: ArchiveFiles, path: string, digest: string | undefined, size: number | undefined): Promise<LayerBlob> {
  const found = await files.size(path);
  if (found === undefined)
    throw new ArchiveError("bad_archive", `the archive lacks the layer ${path}`, "save the image again, for one platform");
  if (size !== undefined && size !== found) throw new ArchiveError("digest_mismatch", `the layer ${path} has ${found} bytes, not ${size}`);
  return { path, digest, size: found };
}

async function readBlob(files: ArchiveFiles, { digest, size }: Descriptor): Promise<unknown> {
  const path = `blobs/sha256/${digest}`;
  const found = await files.size(path);
  if (found === undefined) throw new ArchiveError("bad_archive", `the archive lacks ${path}`);
  if (found !== size) throw new ArchiveError("digest_mismatch", `${path} has ${found} bytes, not ${size}`);
  return readJson(files, path, digest);
}

const maxJson = 4 * 1024 * 1024;

async function readJson(files: ArchiveFiles, path: string, digest?: string): Promise<unknown> {
  const size = await files.size(path);
  if (size === undefined) throw new ArchiveError("bad_archive", `the archive lacks ${path}`);
  if (size > maxJson) throw new ArchiveError("too_large", `${path} has ${size} bytes`);
  const data = await whole(files.read(path));
  if (digest !== undefined && createHash("sha256").update(data).digest("hex") !== digest) {
    throw new ArchiveError("digest_mismatch", `${path} does not match its digest`);
  }
  try {
    return JSON.parse(data.toString("utf8"));
  } catch (error) {
    if (error instanceof SyntaxError) throw new ArchiveError("bad_archive", `${path} is not JSON: ${error.message}`);
    throw error;
  }
}

async function whole(bytes: Bytes): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of bytes) parts.push(part);
  return Buffer.concat(parts);
}
