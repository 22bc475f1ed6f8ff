import { createHash } from "node:crypto";
import { createReadStream, statSync } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Readable } from "node:stream";
import { Failure } from "../../../contract/errors.ts";
import { tarEnd } from "../../../files/tar/tar-writer.ts";
import { type HostImages, type ImageKind, type ImageManifest, type ImageUser, mayFetch, type SharedImage } from "../../host-images.ts";
import { type LayerRecord, layerRecord } from "../containers/store/layers.ts";
import { type LocalImage, readImages } from "../images/images.ts";
import { findVmImages } from "../images/vm-images.ts";
import type { LocalPaths } from "../machine/paths.ts";
import { type RegistrySettings, readSettings, SettingsError, settingsPath } from "../registries/settings.ts";
import { fileDigest } from "../transfers/disk-base.ts";
import { fileEntries } from "../transfers/pack-disk.ts";

/** More images are not offered: the list is in each report of the machine. */
const maxShared = 200;

/** The facts of a container in its manifest, beside its layers. */
export interface ContainerFacts {
  readonly container: LocalImage["container"];
  readonly pulled?: LocalImage["pulled"];
  /** The ids on disk at which the files of its layers begin. With another one, the image has another digest. */
  readonly idBase: number;
}

type Paths = Pick<LocalPaths, "state" | "images" | "vmImages">;

/** The images of this machine, as other machines of the fleet fetch them. The images that `labwright setup` builds are on each machine. */
export class SharedImages implements Omit<HostImages, "usePeers"> {
  readonly #paths: Paths;
  #known: { readonly mark: string; readonly images: Promise<readonly Found[]> } | undefined;
  /** Directory of a layer and its time → the digest of its archive. Layers never change. */
  readonly #layers = new Map<string, Promise<{ readonly sha256: string; readonly bytes: number }>>();

  constructor(paths: Paths) {
    this.#paths = paths;
  }

  async shared(): Promise<readonly SharedImage[]> {
    return (await this.#found()).map(({ shared }) => shared);
  }

  async manifest(user: ImageUser, kind: ImageKind, name: string): Promise<ImageManifest> {
    const { image, shared } = await this.#image(user, kind, name);
    const parts =
      kind === "container"
        ? (await layersOf(image)).map(({ record }) => ({ name: record.diff_id, bytes: record.size_bytes }))
        : await Promise.all(filesOf(image).map(async (file) => ({ name: file, bytes: (await stat(join(image.rootfs, file))).size })));
    const { digest, template } = shared;
    return {
      ...{ kind, name, digest, description: image.description, parts, config: await factsOf(image, kind) },
      ...(template !== undefined && { template }),
    };
  }

  async part(user: ImageUser, kind: ImageKind, name: string, part: number): Promise<{ readonly sha256: string; readonly bytes: number }> {
    const { image } = await this.#image(user, kind, name);
    if (kind === "container") return this.#archive(await layerAt(image, part));
    const file = join(image.rootfs, filesOf(image)[part] ?? refusePart(name, part));
    return { sha256: await fileDigest(file), bytes: (await stat(file)).size };
  }

  async read(user: ImageUser, kind: ImageKind, name: string, part: number, offset: number): Promise<Readable> {
    const { image } = await this.#image(user, kind, name);
    if (kind === "container") return Readable.from(from(archiveOf(await layerAt(image, part)), offset), { objectMode: false });
    const file = join(image.rootfs, filesOf(image)[part] ?? refusePart(name, part));
    return createReadStream(file, { start: offset, highWaterMark: 1 << 18 });
  }

  async #image(user: ImageUser, kind: ImageKind, name: string): Promise<Found> {
    const found = (await this.#found()).find(({ shared }) => shared.kind === kind && shared.name === name);
    if (found === undefined) throw new Failure("bad_request", `there is no image ${name} on this machine any more`);
    if (!mayFetch(found.shared, user))
      throw new Failure("operation_not_allowed", `image ${name}: its registry is not open to ${user.name} on the machine that has it`);
    return found;
  }

  /** Reads the image directories again when an image came or went, or the settings of the registries changed. */
  #found(): Promise<readonly Found[]> {
    const { state, images, vmImages } = this.#paths;
    const mark = [images, vmImages, settingsPath(state)].map(timeOf).join(" ");
    if (this.#known?.mark === mark) return this.#known.images;
    const known = { mark, images: findShared(this.#paths) };
    this.#known = known;
    known.images.catch(() => {
      if (this.#known === known) this.#known = undefined;
    });
    return known.images;
  }

  #archive(layer: Layer): Promise<{ readonly sha256: string; readonly bytes: number }> {
    const known = this.#layers.get(layer.mark);
    if (known !== undefined) return known;
    const reading = digestOf(archiveOf(layer));
    this.#layers.set(layer.mark, reading);
    reading.catch(() => this.#layers.delete(layer.mark));
    return reading;
  }
}

interface Found {
  readonly image: LocalImage;
  readonly shared: SharedImage;
}

async function findShared({ state, images, vmImages }: Paths): Promise<readonly Found[]> {
  const settings = await readSettings(state).catch((error: unknown) => {
    // A wrong file is reported by pulls. Which images are open to whom is unknown: only images of no registry are offered.
    if (error instanceof SettingsError) return undefined;
    throw error;
  });
  const containers = (await readImages(images)).images.flatMap((image): readonly Found[] => {
    if (image.container === undefined) return [];
    const users = usersOf(image, settings);
    if (users === "unknown") return [];
    const { name, digest, size: bytes } = image;
    return [{ image, shared: { kind: "container", name, digest, arch: process.arch, bytes, ...(users !== undefined && { users }) } }];
  });
  const machines = (await findVmImages(vmImages)).images.flatMap((image): readonly Found[] => {
    const { name, size: bytes, vm } = image;
    if (vm?.template === undefined || !isPlain(image)) return [];
    return [{ image, shared: { kind: "machine", name, digest: "", arch: process.arch, bytes, template: vm.template } }];
  });
  return [...containers, ...machines].slice(0, maxShared);
}

/** The users who may use an image; undefined: all. */
function usersOf({ pulled }: LocalImage, settings: RegistrySettings | undefined): readonly string[] | undefined | "unknown" {
  if (pulled === undefined) return undefined;
  if (settings === undefined) return "unknown";
  const users = settings.registries.get(pulled.registry)?.users;
  if (users === undefined || users === "all") return undefined;
  return users === "admins" ? [] : users;
}

/** Whether `labwright image add` made the image: it would make the same one of its files. */
function isPlain({ vm }: LocalImage): boolean {
  if (vm === undefined || vm.kernel !== undefined || vm.cdroms.some((file) => file !== "cdrom.iso")) return false;
  return vm.disks.every(({ file, format }, at) => format === "qcow2" && file === `disk${at + 1}.qcow2`);
}

function filesOf({ vm }: LocalImage): readonly string[] {
  return [...(vm?.disks ?? []).map(({ file }) => file), ...(vm?.cdroms ?? [])];
}

async function factsOf(image: LocalImage, kind: ImageKind): Promise<unknown> {
  if (kind === "machine") return { from: image.vm?.from };
  const idBase = (await layersOf(image))[0]?.record.id_base ?? 0;
  const facts: ContainerFacts = { container: image.container, idBase, ...(image.pulled !== undefined && { pulled: image.pulled }) };
  return facts;
}

interface Layer {
  readonly root: string;
  readonly record: LayerRecord;
  readonly mark: string;
}

/** Returns the layers of a container, the lowest first. */
async function layersOf({ name, layers }: LocalImage): Promise<readonly Layer[]> {
  return Promise.all(
    layers.toReversed().map(async (root) => {
      const home = dirname(root);
      const record = await layerRecord(dirname(home), basename(home));
      if (record === undefined) throw new Failure("bad_request", `image ${name} has just been removed`);
      return { root, record, mark: `${home} ${timeOf(join(home, "layer.json"))}` };
    }),
  );
}

async function layerAt(image: LocalImage, part: number): Promise<Layer> {
  return (await layersOf(image))[part] ?? refusePart(image.name, part);
}

function refusePart(name: string, part: number): never {
  throw new Failure("bad_request", `image ${name} has no part ${part}`);
}

async function* archiveOf({ root, record }: Layer): AsyncGenerator<Buffer> {
  // Without the times of folders, all machines with the layer send the same bytes.
  yield* fileEntries({ node: "of an image", upper: root, idBase: record.id_base }, true);
  yield tarEnd;
}

async function digestOf(parts: AsyncIterable<Buffer>): Promise<{ readonly sha256: string; readonly bytes: number }> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const part of parts) {
    hash.update(part);
    bytes += part.length;
  }
  return { sha256: hash.digest("hex"), bytes };
}

async function* from(parts: AsyncIterable<Buffer>, offset: number): AsyncGenerator<Buffer> {
  let at = 0;
  for await (const part of parts) {
    if (at + part.length > offset) yield part.subarray(Math.max(0, offset - at));
    at += part.length;
  }
}

function timeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
