import { createHash } from "node:crypto";
import type { ImageReference } from "../../../engine/model/image-reference.ts";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import { bodyOf } from "../registries/exchange.ts";
import type { ManifestBytes, RegistryClient } from "../registries/registry-client.ts";
import { type ImageConfig, parseConfig, record, sha256Of, wrong } from "./image-config.ts";
import { fits } from "./platform.ts";

/** An image in a registry. */
export interface RemoteImage {
  /** SHA-256 (hex) of the manifest or index that the reference names. */
  readonly digest: string;
  readonly config: ImageConfig;
  /** The lowest first, one for each diff id of the configuration. */
  readonly layers: readonly RemoteLayer[];
  /** The servers that may have its layers; the one that had the manifest is the first. */
  readonly clients: readonly RegistryClient[];
}

export interface RemoteLayer {
  /** SHA-256 (hex). */
  readonly digest: string;
  readonly size: number;
}

const maxConfig = 4 * 1024 * 1024;

/**
 * Reads manifest and configuration of an image from the first server that has them. Throws ArchiveError with the problem of the last server, which is the
 * registry itself, and names a mirror that failed in the hint.
 */
export async function readRemoteImage(
  clients: readonly RegistryClient[],
  reference: ImageReference,
  platform: string,
  shown: string,
): Promise<RemoteImage> {
  for (const [i, client] of clients.entries()) {
    try {
      return { ...(await readFrom(client, reference, platform, shown)), clients: [client, ...clients.filter((other) => other !== client)] };
    } catch (error) {
      if (i === clients.length - 1 || !(error instanceof ArchiveError)) throw error;
    }
  }
  throw new Error("internal error: an image without a server");
}

async function readFrom(
  client: RegistryClient,
  reference: ImageReference,
  platform: string,
  shown: string,
): Promise<Omit<RemoteImage, "clients">> {
  const top = await client.manifest(reference);
  const manifest = await imageManifest(client, top, platform, shown);
  const config = descriptorOf(manifest["config"], "config");
  const layers = manifest["layers"];
  if (!Array.isArray(layers)) throw wrong("layers", "is not a list");
  const found = layers.map((layer, i) => layerOf(layer, `layers[${i}]`));
  const parsed = parseConfig(await readConfig(client, config));
  if (!fits(parsed.platform, platform)) throw wrongPlatform(shown, [parsed.platform], platform);
  if (found.length !== parsed.diffIds.length) {
    throw new ArchiveError("bad_archive", `${shown} has ${found.length} layers, but its configuration lists ${parsed.diffIds.length}`);
  }
  return { digest: top.digest, config: parsed, layers: found };
}

/** Returns the manifest of the image for the platform: the one that was received, or the one that the received index names. */
async function imageManifest(
  client: RegistryClient,
  top: ManifestBytes,
  platform: string,
  shown: string,
): Promise<Readonly<Record<string, unknown>>> {
  let bytes = top;
  for (let depth = 0; depth < maxDepth; depth++) {
    const value = record(parsed(bytes, shown), "the manifest");
    if (value["schemaVersion"] === 1) {
      throw new ArchiveError(
        "bad_archive",
        `${shown} has a manifest of docker's schema 1`,
        "push it again with a docker of version 1.10 or newer",
      );
    }
    const list = value["manifests"];
    if (list === undefined) return value;
    if (!Array.isArray(list) || list.length > maxManifests) throw wrong("manifests", "is not a list, or too long");
    const entries = list.map((entry, i) => ({ ...descriptorOf(entry, `manifests[${i}]`), platform: platformOf(entry, `manifests[${i}]`) }));
    const fitting = entries.find((entry) => entry.platform !== undefined && fits(entry.platform, platform)) ?? onlyOne(entries);
    if (fitting === undefined)
      throw wrongPlatform(
        shown,
        entries.flatMap((entry) => entry.platform ?? []),
        platform,
      );
    bytes = await client.manifest({ digest: fitting.digest });
  }
  throw new ArchiveError("bad_archive", `${shown} is an index of indexes of indexes`);
}

const maxDepth = 4;
const maxManifests = 1000;

/** An index without platforms is clear if it has one manifest. */
function onlyOne<T extends { readonly platform: string | undefined }>(entries: readonly T[]): T | undefined {
  return entries.length === 1 && entries[0]?.platform === undefined ? entries[0] : undefined;
}

function parsed({ data }: ManifestBytes, shown: string): unknown {
  try {
    return JSON.parse(data.toString("utf8"));
  } catch (error) {
    if (error instanceof SyntaxError) throw new ArchiveError("bad_archive", `the manifest of ${shown} is not JSON`);
    throw error;
  }
}

async function readConfig(client: RegistryClient, { digest, size }: RemoteLayer): Promise<unknown> {
  if (size > maxConfig) throw new ArchiveError("too_large", `the configuration of the image has ${size} bytes`);
  const { response, url } = await client.blob(digest, 0);
  const data = await bodyOf(response, url, size);
  if (createHash("sha256").update(data).digest("hex") !== digest) {
    throw new ArchiveError(
      "digest_mismatch",
      `the configuration sha256:${digest} of ${client.endpoint.host} does not match its digest`,
      "push the image again",
    );
  }
  return parsed({ data, digest, mediaType: "" }, "its configuration");
}

function layerOf(value: unknown, place: string): RemoteLayer {
  const mediaType = String(record(value, place)["mediaType"] ?? "");
  if (/encrypted/.test(mediaType)) throw wrong(place, "is encrypted");
  if (/foreign|nondistributable/.test(mediaType)) throw wrong(place, "is not in the registry, but at its vendor");
  if (!/tar/.test(mediaType))
    throw wrong(place, `is of type ${JSON.stringify(mediaType.slice(0, 80))}, which is not a layer of a container image`);
  return descriptorOf(value, place);
}

function descriptorOf(value: unknown, place: string): RemoteLayer {
  const one = record(value, place);
  const { size } = one;
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) throw wrong(`${place}.size`, "is not a size");
  return { digest: sha256Of(one["digest"], `${place}.digest`), size };
}

function platformOf(value: unknown, place: string): string | undefined {
  const given = record(value, place)["platform"];
  if (given === undefined) return undefined;
  const { os, architecture, variant } = record(given, `${place}.platform`);
  return [os, architecture, variant].filter((part) => typeof part === "string" && part !== "").join("/");
}

function wrongPlatform(shown: string, found: readonly string[], platform: string): ArchiveError {
  const list =
    [...new Set(found)]
      .filter((one) => !one.startsWith("unknown"))
      .sort()
      .join(", ") || "no platform that it names";
  return new ArchiveError(
    "wrong_platform",
    `${shown} is for ${list}, not for ${platform}`,
    "an image for this machine's processor is needed",
  );
}
