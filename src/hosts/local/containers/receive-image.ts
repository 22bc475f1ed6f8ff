import { createReadStream } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import type { ContainerConfig, PulledFrom } from "../images/images.ts";
import { idRange } from "../machine/idmap.ts";
import type { LocalPaths } from "../machine/paths.ts";
import { downloads } from "../registries/download-folder.ts";
import { type PullLimits, readSettings } from "../registries/settings.ts";
import { builtinTemplates, loadTemplates } from "../templates/reading/templates.ts";
import { addVmImage } from "../vm-images/add-vm-image.ts";
import { imageName } from "./add-image.ts";
import { unpackLimits } from "./archive/budget.ts";
import { parseConfig, record, texts, wrong } from "./image-config.ts";
import { imageUsers } from "./image-users.ts";
import { allowedOfUser } from "./pull-image.ts";
import { refuseTooManyLayers, type Source, storeImage } from "./store/store-image.ts";

interface ReceiveOptions {
  /** The file that describes the image and its downloaded parts: `ReceivedImage`. Removed when the image is here. */
  readonly file: string;
  readonly paths: LocalPaths;
  /** The user whose lab needs the image. */
  readonly by: string;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

/** An image of another machine of the fleet, checked as a file of a stranger. */
interface Received {
  readonly machine: string;
  readonly kind: "container" | "machine";
  readonly name: string;
  readonly digest: string;
  readonly description: string;
  readonly template: string | undefined;
  readonly parts: readonly { readonly name: string; readonly file: string | null; readonly bytes: number }[];
  readonly config: Readonly<Record<string, unknown>>;
}

/**
 * Unpacks an image that was fetched from another machine of the fleet, with the checks and limits of an image that is pulled or added. Throws ArchiveError, and keeps
 * downloaded parts for the next try unless they are wrong or the disk is full.
 */
export async function receiveImage(options: ReceiveOptions): Promise<void> {
  const { file, paths } = options;
  const image = receivedOf(JSON.parse(await readFile(file, "utf8")));
  const path = (name: string) => join(paths.images, downloads, name);
  const used = [file, ...image.parts.flatMap(({ file: name }) => (name === null ? [] : [path(name)]))];
  try {
    if (image.kind === "container") await receiveContainer(image, path, options);
    else await receiveMachine(image, path, options);
  } catch (error) {
    if (!(error instanceof ArchiveError) || !["disk_full", "digest_mismatch"].includes(error.code)) throw error;
    for (const one of used) await rm(one, { force: true });
    throw error;
  }
  for (const one of used) await rm(one, { force: true });
}

async function receiveContainer(image: Received, path: (name: string) => string, options: ReceiveOptions): Promise<void> {
  const { by, paths, say, signal } = options;
  const directory = paths.images;
  const { limits } = await readSettings(paths.state);
  const idBase = process.getuid?.() === 0 ? idRange.base : undefined;
  refuseTooManyLayers(directory, image.parts.length, limits.layers);
  const packed = image.parts.reduce((sum, { bytes }) => sum + bytes, 0);
  const bytes = await allowedBytes(directory, image.name, { by, packed, limits });
  const at = new Date().toISOString();
  const pulled = pulledOf(image.config["pulled"]);
  const added = await storeImage(
    {
      directory,
      // The image is missing here, or damaged.
      replace: true,
      idBase,
      limits: { ...unpackLimits, bytes, hint: "an administrator can raise limits in registries.yaml" },
      pulled,
      fetched: { machine: image.machine, by, at },
      waits: true,
      now: () => new Date(),
      say,
      signal,
    },
    async () => ({ source: sourceOf(image, path), name: imageName(image.name) }),
  );
  if (image.config["idBase"] === (idBase ?? 0) && added.record.digest !== image.digest)
    throw new ArchiveError(
      "digest_mismatch",
      `image ${image.name} of machine ${image.machine} is not what the machine announced`,
      "try again",
    );
}

async function allowedBytes(
  directory: string,
  name: string,
  { by, packed, limits: { imageBytes, userBytes } }: { readonly by: string; readonly packed: number; readonly limits: PullLimits },
): Promise<number> {
  return Math.min(imageBytes, await allowedOfUser(directory, { by, name, packed, userBytes }));
}

function sourceOf(image: Received, path: (name: string) => string): Source {
  const { container: given } = image.config as { readonly container?: Partial<ContainerConfig> };
  const env = Object.entries(record(given?.env ?? {}, "env")).map(([name, value]) => `${name}=${String(value)}`);
  const { container, diffIds } = parseConfig({
    rootfs: { type: "layers", diff_ids: image.parts.map(({ name }) => `sha256:${name}`) },
    config: {
      Entrypoint: given?.entrypoint,
      Cmd: given?.command,
      Env: env,
      WorkingDir: given?.workdir,
      User: given?.user,
      ...(given?.stopSignal !== undefined && { StopSignal: String(given.stopSignal) }),
    },
  });
  return {
    name: image.name,
    container,
    description: image.description,
    layers: image.parts.map(({ file }, at) => ({
      what: `layer ${at + 1} of machine ${image.machine}`,
      diffId: diffIds[at]!,
      isChecked: true,
      isRepacked: true,
      digest: file ?? undefined,
      read: () => {
        if (file === null) throw new ArchiveError("not_found", "a layer that was on this machine has just been removed", "try again");
        return createReadStream(path(file));
      },
    })),
  };
}

async function receiveMachine(image: Received, path: (name: string) => string, options: ReceiveOptions): Promise<void> {
  const { paths, say, signal } = options;
  const { limits } = await readSettings(paths.state);
  const { templates } = await loadTemplates([builtinTemplates, join(paths.state, "templates")]);
  const users = await imageUsers(paths.state);
  const { from } = image.config;
  await addVmImage({
    files: image.parts.map(({ file }) => path(file ?? "")),
    directory: paths.vmImages,
    images: paths.images,
    templates,
    name: image.name,
    template: image.template,
    replace: false,
    usersOf: (name) => users.of(name),
    limits: { ...unpackLimits, bytes: Math.min(unpackLimits.bytes, limits.imageBytes) },
    from: typeof from === "string" ? from : image.parts.map(({ name }) => name).join(" "),
    waits: true,
    now: () => new Date(),
    say,
    signal,
  });
}

function pulledOf(value: unknown): PulledFrom | undefined {
  if (value === undefined) return undefined;
  const { registry, digest, at } = record(value, "pulled");
  if (typeof registry !== "string" || typeof digest !== "string" || typeof at !== "string") throw wrong("pulled", "lacks a field");
  return { registry, digest, at };
}

function receivedOf(value: unknown): Received {
  const { machine, manifest, files } = record(value, "the description");
  const { kind, name, digest, description, template, parts, config } = record(manifest, "the manifest");
  if (kind !== "container" && kind !== "machine") throw wrong("kind", "is unknown");
  const [machineName, named, digested, described] = texts([machine, name, digest, description], "the description");
  if (!Array.isArray(parts) || !Array.isArray(files) || files.length !== parts.length) throw wrong("parts", "is not a list");
  return {
    machine: machineName!,
    kind,
    name: named!,
    digest: digested!,
    description: described!,
    template: typeof template === "string" ? template : undefined,
    parts: parts.map((part, at) => {
      const { name: partName, bytes } = record(part, "a part");
      const file = files[at] as unknown;
      const isFile = file === null || (typeof file === "string" && /^[0-9a-f]{64}$/.test(file));
      if (typeof partName !== "string" || typeof bytes !== "number" || !isFile) throw wrong("parts", "lacks a field");
      return { name: partName, file: file as string | null, bytes };
    }),
    config: record(config, "config"),
  };
}
