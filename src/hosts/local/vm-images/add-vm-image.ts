import { constants } from "node:fs";
import { chmod, chown, mkdir, open, readdir, rename, rm, stat, statfs, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { stringify } from "yaml";
import { compareNatural } from "../../../base/natural-order.ts";
import { makeDirectory } from "../../../files/make-directory.ts";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import { type UnpackLimits, unpackLimits } from "../containers/archive/budget.ts";
import { diskProblem, diskReserve } from "../containers/store/store-image.ts";
import { lockImages } from "../containers/store/store-lock.ts";
import { idRange } from "../machine/idmap.ts";
import { imageNameOf, templateForFile } from "../templates/software.ts";
import type { LocalTemplate } from "../templates/template.ts";
import { checkIso, checkRaw } from "./check-plain.ts";
import { checkQcow2 } from "./check-qcow2.ts";
import { checkVmdk, type ReadPart, refuseDescriptor } from "./check-vmdk.ts";
import { type CopyLimits, copyIn, copyPart } from "./copy-in.ts";
import { type DiskFormat, formatOf, headBytes } from "./disk-format.ts";
import { checkData, convert, findQemuImg, type QemuImg, type RunLimits } from "./qemu-img.ts";
import { readOva } from "./read-ova.ts";
import { again, wrongImage } from "./refuse.ts";
import { ovaName } from "./source-kind.ts";

export interface AddVmOptions {
  /** Disks and CDs of one machine, in the order in which the machine has them. */
  readonly files: readonly string[];
  /** The directory of virtual machines' images. Created if it is missing. */
  readonly directory: string;
  /** The directory of the other images, with the hypervisor. */
  readonly images: string;
  readonly templates: readonly LocalTemplate[];
  /** Default: the name of the first file. */
  readonly name?: string | undefined;
  /** Default: the template that knows the name of a file. */
  readonly template?: string | undefined;
  readonly replace: boolean;
  /** Returns the labs that use an image. */
  readonly usersOf: (name: string) => readonly string[];
  readonly limits?: UnpackLimits;
  /** The names of the files, for people. Default: those of `files`. */
  readonly from?: string | undefined;
  /** Waits for another process that changes the directory, instead of failing with busy. */
  readonly waits?: boolean;
  readonly now: () => Date;
  readonly say: (text: string) => void;
  readonly signal?: AbortSignal | undefined;
}

export interface AddedVmImage {
  readonly name: string;
  readonly template: LocalTemplate;
  /** How the template was chosen. */
  readonly by: "flag" | "file name" | "default";
  readonly disks: number;
  readonly cdroms: number;
  /** Bytes on disk. */
  readonly size: number;
}

/** The template of machines that no other template knows. */
export const genericTemplate = "qemu";
const maxDisks = 3;

/**
 * Adds an image of a virtual machine: checks its files by their content, converts its disks to qcow2, and writes image.yaml. The image becomes visible when its directory is
 * renamed into place; the next call removes the remains of an interrupted one. Throws ArchiveError.
 */
export async function addVmImage(options: AddVmOptions): Promise<AddedVmImage> {
  const { directory, signal } = options;
  const name = vmImageName(options.name ?? imageNameOf(resolve(options.files[0]!)));
  const chosen = chooseTemplate(options);
  await makeDirectory(directory, 0o755);
  await using _lock = await lockImages(directory, options.waits === true ? (signal ?? new AbortController().signal) : undefined);
  for (const left of (await readdir(directory)).filter((entry) => /^\.(add|gone)-/.test(entry)))
    await rm(join(directory, left), { recursive: true });
  await refuseTaken(options, name);
  const work = join(directory, `.add-${process.pid}`);
  try {
    await mkdir(work, { mode: 0o711 });
    const qemuImg = await findQemuImg(options.images, join(work, "libraries"));
    const { disks, cdroms } = await new Intake(options, work, qemuImg).all();
    signal?.throwIfAborted();
    const home = join(work, "image");
    await mkdir(home);
    const size = await place(work, home, disks, cdroms);
    await writeFile(join(home, "image.yaml"), record(options, chosen.template));
    await chmod(join(home, "image.yaml"), 0o644);
    await chmod(home, 0o755);
    const old = join(work, "old");
    await rename(join(directory, name), old).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
    await rename(home, join(directory, name));
    return { name, ...chosen, disks: disks.length, cdroms: cdroms.length, size };
  } catch (error) {
    throw diskProblem(withHint(error), directory);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** The readers of archives do not know what the archive is for. */
function withHint(error: unknown): unknown {
  if (!(error instanceof ArchiveError) || error.hint !== undefined) return error;
  return new ArchiveError(error.code, error.message, error.code === "interrupted" ? "run the command again" : again);
}

/** @throws ArchiveError bad_name */
export function vmImageName(name: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$/.test(name) && name !== "default") return name;
  throw new ArchiveError(
    "bad_name",
    `${JSON.stringify(name)} cannot be the name of a virtual machine's image`,
    "--name gives another: letters, digits and . _ + -",
  );
}

function chooseTemplate({ files, template, templates }: AddVmOptions): Pick<AddedVmImage, "template" | "by"> {
  const machines = templates.filter(({ backend }) => backend === "vm");
  if (template !== undefined) {
    const found = machines.find(({ id }) => id === template);
    if (found !== undefined) return { template: found, by: "flag" };
    throw new ArchiveError(
      "not_found",
      `there is no template ${template} of virtual machines`,
      `--template takes one of ${machines.map(({ id }) => id).join(", ")}`,
    );
  }
  for (const file of files) {
    const found = templateForFile(machines, "vm", resolve(file));
    if (found !== undefined) return { template: found, by: "file name" };
  }
  const generic = machines.find(({ id }) => id === genericTemplate);
  if (generic === undefined) throw new ArchiveError("not_found", `there is no template ${genericTemplate}`, "--template names another one");
  return { template: generic, by: "default" };
}

async function refuseTaken({ directory, replace, usersOf }: AddVmOptions, name: string): Promise<void> {
  const isThere = await stat(join(directory, name)).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
  if (!isThere) return;
  if (!replace)
    throw new ArchiveError("exists", `there is another image ${name}`, "--replace takes its place, --name gives this one another name");
  const users = usersOf(name);
  if (users.length > 0)
    throw new ArchiveError(
      "in_use",
      `image ${name} is used by ${users.join(", ")}, whose disks are based on it`,
      "--name gives this one another name",
    );
}

/** Moves the files into the image's directory. Returns their bytes on disk. */
async function place(work: string, home: string, disks: readonly string[], cdroms: readonly string[]): Promise<number> {
  let size = 0;
  const names = [...disks.map((file, i) => [file, `disk${i + 1}.qcow2`] as const), ...cdroms.map((file) => [file, "cdrom.iso"] as const)];
  for (const [file, name] of names) {
    await using handle = await open(join(work, file), constants.O_RDONLY | constants.O_NOFOLLOW);
    const found = await handle.stat();
    if (!found.isFile() || found.nlink !== 1) throw new Error(`${file} is not a plain file of its own after the conversion`);
    await handle.chown(process.getuid?.() ?? 0, process.getgid?.() ?? 0);
    await handle.chmod(0o644);
    await handle.sync();
    size += (await handle.stat()).blocks * 512;
    await rename(join(work, file), join(home, name));
  }
  return size;
}

function record({ files, from, now }: AddVmOptions, template: LocalTemplate): string {
  return stringify(
    {
      description: template.software?.name ?? template.description,
      template: template.id,
      added: now().toISOString(),
      from: (from ?? files.map((file) => basename(resolve(file))).join(" ")).replace(/[^\x20-\x7e\xa0-\uffff]/g, "?"),
    },
    { lineWidth: 0 },
  );
}

/** Checks and converts the files of one machine in a work directory. */
class Intake {
  readonly #options: AddVmOptions;
  readonly #work: string;
  readonly #qemuImg: QemuImg;
  readonly #disks: string[] = [];
  readonly #cdroms: string[] = [];
  #next = 0;

  constructor(options: AddVmOptions, work: string, qemuImg: QemuImg) {
    this.#options = options;
    this.#work = work;
    this.#qemuImg = qemuImg;
  }

  /** Returns names of files in the work directory. */
  async all(): Promise<{ readonly disks: readonly string[]; readonly cdroms: readonly string[] }> {
    for (const file of await expanded(this.#options.files)) {
      const copy = this.#name();
      this.#options.say(`reading ${basename(file)}`);
      const size = await copyIn(file, join(this.#work, copy), await this.#copyLimits(file));
      await this.#take(file, copy, size);
    }
    return { disks: this.#disks, cdroms: this.#cdroms };
  }

  #name(): string {
    return `in-${this.#next++}`;
  }

  async #room(): Promise<number> {
    const { bavail, bsize } = await statfs(this.#work);
    return Math.max(0, bavail * bsize - diskReserve);
  }

  async #copyLimits(file: string): Promise<CopyLimits> {
    const { limits = unpackLimits, signal, say } = this.#options;
    const progress = (bytes: number) => say(`reading ${basename(file)}: ${Math.floor(bytes / 1e6)} MB`);
    return { ...limits, room: await this.#room(), signal, progress };
  }

  async #runLimits(verb: string): Promise<RunLimits> {
    const { limits = unpackLimits, signal, say } = this.#options;
    const progress = (percent: number) => say(`${verb}: ${Math.floor(percent)} %`);
    return { bytes: Math.min(limits.bytes, await this.#room()), signal, progress };
  }

  /** Takes a copied file by its content. @param isPart it is a file of an OVA */
  async #take(what: string, copy: string, size: number, isPart = false): Promise<void> {
    const path = join(this.#work, copy);
    const format = await withParts(path, async (read) => {
      const head = await read(0, headBytes);
      const byContent = formatOf(head);
      const found = byContent === "tar" && ovaName.test(what) ? "ova" : byContent;
      await check(found, what, head, read, size);
      return found;
    });
    if (format === "ova" && isPart) throw wrongImage(`${what} is an archive in an archive`);
    if (format === "ova") return this.#takeOva(what, path);
    if (format === "iso") {
      this.#cdroms.push(copy);
      if (this.#cdroms.length > 1) throw wrongImage(`${what} is a second CD: a node has one`, "add the disks and one CD");
      return;
    }
    if (this.#disks.length === maxDisks)
      throw wrongImage(`${what} is disk ${maxDisks + 1}: a node has at most ${maxDisks} of an image`, "add fewer disks");
    this.#disks.push(await this.#disk(what, copy, format as "qcow2" | "vmdk" | "raw"));
  }

  /**
   * Checks a disk, and converts it to qcow2. Returns its name in the work directory. The converter reads files of strangers, so it runs as a user of its own in a directory that
   * has nothing else.
   */
  async #disk(what: string, copy: string, format: "qcow2" | "vmdk" | "raw"): Promise<string> {
    const { user } = this.#qemuImg;
    const room = join(this.#work, `${copy}.room`);
    await mkdir(room, { mode: 0o700 });
    await rename(join(this.#work, copy), join(room, "in"));
    if (user !== undefined) {
      await chown(join(room, "in"), user, idRange.base);
      await chown(room, user, idRange.base);
    }
    if (format !== "raw")
      await checkData(this.#qemuImg, room, { what, file: "in", format }, await this.#runLimits(`checking ${basename(what)}`));
    if (format !== "qcow2")
      await convert(this.#qemuImg, room, { what, from: "in", format, to: "out" }, await this.#runLimits(`converting ${basename(what)}`));
    if (user !== undefined) await chown(room, process.getuid?.() ?? 0, process.getgid?.() ?? 0);
    const disk = this.#name();
    await rename(join(room, format === "qcow2" ? "in" : "out"), join(this.#work, disk));
    await rm(room, { recursive: true });
    return disk;
  }

  async #takeOva(what: string, path: string): Promise<void> {
    const { files } = await readOva(path, what, this.#options.signal);
    for (const file of files) {
      const copy = this.#name();
      const size = await copyPart(path, file, join(this.#work, copy), await this.#copyLimits(file.name));
      const plain = await this.#plain(copy, `${what}: ${file.name}`);
      await this.#take(`${what}: ${file.name}`, plain, plain === copy ? size : (await stat(join(this.#work, plain))).size, true);
    }
    await rm(path);
  }

  /** A disk of an OVA may be compressed. */
  async #plain(copy: string, what: string): Promise<string> {
    const path = join(this.#work, copy);
    const packed = await withParts(path, async (read) => (await read(0, 2)).toString("hex") === "1f8b");
    if (!packed) return copy;
    const plain = this.#name();
    await copyIn(path, join(this.#work, plain), await this.#copyLimits(what));
    await rm(path);
    return plain;
  }
}

/** Returns the files, with those of a directory in their natural order. */
async function expanded(files: readonly string[]): Promise<readonly string[]> {
  const lists = files.map(async (file) => {
    const isDirectory = await stat(file).then(
      (found) => found.isDirectory(),
      () => false,
    );
    if (!isDirectory) return [file];
    const inside = (await readdir(file)).filter((name) => /\.(qcow2?|vmdk|raw|img|iso)$/i.test(name)).sort(compareNatural);
    if (inside.length === 0)
      throw wrongImage(`${file} has no disks: no .qcow2, .vmdk, .raw, .img or .iso file`, "name the disks themselves");
    return inside.map((name) => join(file, name));
  });
  return (await Promise.all(lists)).flat();
}

async function withParts<T>(path: string, use: (read: ReadPart) => Promise<T>): Promise<T> {
  await using file = await open(path, "r");
  return await use(async (at, length) => {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at);
    return buffer.subarray(0, bytesRead);
  });
}

async function check(format: DiskFormat | undefined, what: string, head: Buffer, read: ReadPart, size: number): Promise<void> {
  switch (format) {
    case "qcow2":
      return checkQcow2(what, head.subarray(0, 4096), size);
    case "vmdk":
      return checkVmdk(what, read, size);
    case "vmdk descriptor":
      return refuseDescriptor(what, head.toString("latin1"));
    case "iso":
      return checkIso(what, read, size);
    case "raw":
      return checkRaw(what, read, size);
    case "ova":
      return;
    case "zip":
    case "7z":
      throw wrongImage(`${what} is a ${format} archive`, "unpack it, and add the disk that is in it");
    case "tar":
      throw wrongImage(`${what} is a tar archive without a description of a machine (.ovf)`, "unpack it, and add the disks that are in it");
    case "vdi":
    case "vhd":
    case "vhdx":
    case "qed":
      throw wrongImage(
        `${what} is a disk of format ${format}, which is not read`,
        `convert it: qemu-img convert -O qcow2 ${basename(what)} NEW.qcow2`,
      );
    default:
      throw wrongImage(
        `${what} is not a disk: its first bytes are not those of qcow2, VMDK, OVA, ISO 9660 or a disk with a partition table`,
      );
  }
}
