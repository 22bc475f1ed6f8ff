import { createHash } from "node:crypto";
import { mkdir, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Failure } from "../../../contract/errors.ts";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import type { FetchProgress } from "../../host.ts";
import type { ImageManifest, ImagePeers, ImageUser, PartDigest, PeerImage } from "../../host-images.ts";
import { layerDirectory, layerRecord } from "../containers/store/layers.ts";
import { chainsOf, diskReserve, exists } from "../containers/store/store-image.ts";
import { lockFile } from "../containers/store/store-lock.ts";
import { idRange } from "../machine/idmap.ts";
import { type BlobServer, download } from "../registries/download.ts";
import { downloads } from "../registries/download-folder.ts";
import { Unreachable } from "../registries/exchange.ts";
import type { Pulls } from "../registries/pulls.ts";
import type { PullLimits } from "../registries/settings.ts";
import type { FromPeers } from "./peer-images.ts";

/** The input of `labwright image receive`: the image, and the file of each part. null: the layer was here. */
export interface ReceivedImage {
  readonly machine: string;
  readonly manifest: ImageManifest;
  readonly files: readonly (string | null)[];
}

export interface FetchOptions {
  /** The image directory. */
  readonly images: string;
  readonly pulls: Pick<Pulls, "pull">;
  readonly peers: ImagePeers;
  readonly user: ImageUser;
  readonly limits: PullLimits;
}

/**
 * Fetches an image from the machines that have it. Labs that need the same image share the fetch. An interrupted one leaves only parts of downloads, with which
 * the next one continues. Throws image_pull_failed.
 */
export async function fetchFromPeers({ wanted, holders }: FromPeers, options: FetchOptions, progress: FetchProgress): Promise<void> {
  const { pulls, user } = options;
  const [{ name, kind }] = holders;
  await pulls
    .pull(
      {
        reference: wanted.image,
        always: false,
        by: user.name,
        fetch: (say, signal) => received(holders, options, { say, signal }),
      },
      progress,
    )
    .catch((error: unknown) => {
      if (!(error instanceof Failure) || error.code !== "machine_unreachable") throw error;
      throw new Failure("image_pull_failed", `${kind === "machine" ? "the image" : "image"} ${name} was not fetched: ${error.message}`, {
        data: { image: name, reason: "unreachable" },
        cause: error,
      });
    });
}

/** Downloads what is missing of an image. Returns the arguments of the program that unpacks it. */
async function received(holders: FromPeers["holders"], options: FetchOptions, { say, signal }: FetchProgress): Promise<readonly string[]> {
  const { images, limits, peers, user } = options;
  const [first] = holders;
  const late = new Failure(
    "image_pull_failed",
    `image ${first.name} was not fetched within ${limits.minutes} minutes: the next try continues it`,
    {
      data: { image: first.name, reason: "timeout" },
    },
  );
  const timeout = new AbortController();
  const limit = setTimeout(() => timeout.abort(late), limits.minutes * 60_000);
  const all = AbortSignal.any([signal, timeout.signal]);
  try {
    const [manifest, holder] = await firstOf(holders, (one) => peers.manifest(one, user, all));
    await refuseLarge(manifest, options);
    const folder = join(images, downloads);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const missing = await missingParts(manifest, images);
    const files: (string | null)[] = manifest.parts.map(() => null);
    for (const [at, part] of missing.entries()) {
      const begin = `fetching ${at + 1} of ${missing.length} parts from ${holder.machine.name}`;
      say(begin);
      const [digest] = await firstOf(holders, (one) => peers.part(one, user, part, all));
      const path = join(folder, digest.sha256);
      await using _lock = await lockFile(`${path}.lock`, all);
      if (!(await exists(path)))
        await download(
          { digest: digest.sha256, size: digest.bytes },
          {
            clients: holders.map((one) => serverOf(one, part, digest, { peers, user, signal: all })),
            path,
            signal: all,
            onBytes: (count) => say(`${begin}, ${megabytes(count)} of ${megabytes(digest.bytes)}`),
            damageHint: "try again; if it fails again, the image on that machine changes or is damaged",
          },
        );
      files[part] = digest.sha256;
    }
    say("unpacking");
    const record: ReceivedImage = { machine: holder.machine.name, manifest, files };
    const path = join(folder, `${createHash("sha256").update(`${manifest.kind} ${manifest.name}`).digest("hex")}.image`);
    await writeFile(path, JSON.stringify(record), { mode: 0o600 });
    return ["receive", "--", path];
  } catch (error) {
    signal.throwIfAborted();
    if (timeout.signal.aborted) throw late;
    if (!(error instanceof ArchiveError)) throw error;
    const text = `image ${first.name} was not fetched: ${error.message}${error.hint === undefined ? "" : `; ${error.hint}`}`;
    throw new Failure("image_pull_failed", text, { data: { image: first.name, reason: error.code }, cause: error });
  } finally {
    clearTimeout(limit);
  }
}

/** Returns the answer of the first machine that answers, and the machine. Throws the failure of the last one. */
async function firstOf<T>(holders: FromPeers["holders"], ask: (one: PeerImage) => Promise<T>): Promise<readonly [T, PeerImage]> {
  let failed: unknown;
  for (const holder of holders) {
    try {
      return [await ask(holder), holder];
    } catch (error) {
      failed = error;
    }
  }
  throw failed;
}

/** Throws too_large and disk_full, before anything is downloaded. */
async function refuseLarge({ name, parts }: ImageManifest, { images, limits: { imageBytes, layers } }: FetchOptions): Promise<void> {
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  if (bytes > imageBytes || parts.length > layers)
    throw new ArchiveError(
      "too_large",
      `${name} has ${megabytes(bytes)} in ${parts.length} parts; here are at most ${megabytes(imageBytes)} in ${layers}`,
      "an administrator can raise limits in registries.yaml",
    );
  const { bavail, bsize } = await statfs(images);
  if (bytes + diskReserve > bavail * bsize)
    throw new ArchiveError(
      "disk_full",
      `${name} has ${megabytes(bytes)}; the disk of the images has ${megabytes(bavail * bsize)} free, and ${megabytes(diskReserve)} must stay free`,
      "labwright image prune removes unused images",
    );
}

async function missingParts({ kind, parts }: ImageManifest, images: string): Promise<readonly number[]> {
  const all = parts.map((_, at) => at);
  if (kind === "machine") return all;
  const idBase = process.getuid?.() === 0 ? idRange.base : 0;
  const chains = chainsOf(parts.map(({ name }) => name));
  const there = await Promise.all(chains.map((chain) => layerRecord(images, layerDirectory(chain, idBase))));
  return all.filter((at) => there[at] === undefined);
}

function serverOf(
  image: PeerImage,
  part: number,
  { sha256, bytes }: PartDigest,
  { peers, user, signal }: Pick<FetchOptions, "peers" | "user"> & { readonly signal: AbortSignal },
): BlobServer {
  const { name } = image.machine;
  return {
    endpoint: { host: `machine ${name}` },
    blob: async (_digest, offset) => {
      try {
        if (offset > bytes) throw new ArchiveError("digest_mismatch", `the part ${sha256} has only ${bytes} bytes`);
        return { response: { body: await peers.read(image, user, part, offset, signal) }, url: new URL(`machine://${name}`), offset };
      } catch (error) {
        if (error instanceof Failure && error.code === "machine_unreachable") throw new Unreachable(error.message);
        if (error instanceof Failure) throw new ArchiveError("not_found", error.message);
        throw error;
      }
    },
  };
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
