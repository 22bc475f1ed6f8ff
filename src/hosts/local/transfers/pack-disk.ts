import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { Failure } from "../../../contract/errors.ts";
import { ifThere } from "../../../files/if-there.ts";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import { opaqueAttribute } from "../../../files/tar/tar-header.ts";
import { readTar, type TarEntry } from "../../../files/tar/tar-reader.ts";
import { entryHead, type TarWrite, tarEnd } from "../../../files/tar/tar-writer.ts";
import { spawnPiped } from "../machine/spawn-piped.ts";

export interface DiskToPack {
  /** For messages. */
  readonly node: string;
  readonly kind: "files" | "machine";
  /** The directory `upper` of the node's disk. The node does not run. */
  readonly upper: string;
  /** The id on disk of the node's root user; `undefined` if this process is not root. */
  readonly idBase: number | undefined;
  /** Maximum bytes of the archive. */
  readonly maxBytes: number;
}

export interface PackedDisk {
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
}

/** Directory of the overlays over the image's disks (native/supervisor/vm.h). */
export const machineFolder = "vm";
export const machineDisk = /^disk[0-2]\.qcow2$/;
const maxMachineDisks = 3;
/** Ids inside a lab are 0 to 65535; files of other owners belong to nobody. */
const maxId = 65_535;
const nobody = 65_534;

/** Writes a node's disk as a tar archive. Whiteouts and opaque directories have the form of OCI layers. Extended attributes are left out. Throws host_error. */
export async function packDisk(disk: DiskToPack, to: string): Promise<PackedDisk> {
  const hash = createHash("sha256");
  let bytes = 0;
  await using file = await open(to, "wx", 0o600);
  const parts = disk.kind === "machine" ? machineEntries(disk) : fileEntries(disk);
  for await (const part of parts) {
    bytes += part.length;
    if (bytes > disk.maxBytes)
      throw hostError(
        `node ${disk.node}: its files have more than ${disk.maxBytes} bytes when they are read, holes included: remove large files with holes from the node`,
      );
    hash.update(part);
    await writeAll(file, part);
  }
  hash.update(tarEnd);
  await writeAll(file, tarEnd);
  return { bytes: bytes + tarEnd.length, sha256: hash.digest("hex") };
}

async function writeAll(file: { write: (data: Uint8Array) => Promise<{ bytesWritten: number }> }, data: Uint8Array): Promise<void> {
  for (let at = 0; at < data.length; ) at += (await file.write(data.subarray(at))).bytesWritten;
}

/** The overlays of a virtual machine. Its directory may contain links that the hypervisor has made, which are not followed. */
async function* machineEntries({ node, upper }: DiskToPack): AsyncGenerator<Buffer> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  await using folder = await open(join(upper, machineFolder), flags | constants.O_DIRECTORY);
  for (let index = 0; index < maxMachineDisks; index++) {
    const name = `disk${index}.qcow2`;
    const opened = await ifThere(open(`/proc/self/fd/${folder.fd}/${name}`, flags));
    if (opened === undefined) continue;
    await using file = opened;
    const stats = await file.stat();
    if (!stats.isFile()) throw hostError(`node ${node}: ${name} is not a plain file`);
    yield entryHead({ name: `${machineFolder}/${name}`, mode: 0o600 }, stats.size);
    yield* exactly(file.createReadStream({ autoClose: false, highWaterMark: 1 << 20 }), stats.size, `node ${node}: ${name}`);
  }
}

/** Pads the data of an entry. Throws if it has another size than its head. */
async function* exactly(data: AsyncIterable<Buffer>, size: number, what: string): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of data) {
    bytes += chunk.length;
    yield chunk;
  }
  if (bytes !== size) throw hostError(`${what} changed while it was read`);
  yield Buffer.alloc((512 - (size % 512)) % 512);
}

/**
 * Returns the bytes of a tree as an archive, without its end. GNU tar reads extended attributes and follows no links. Its entries are rewritten. A tree that does
 * not change gives the same bytes each time.
 */
export async function* fileEntries(
  { node, upper, idBase = 0 }: Pick<DiskToPack, "node" | "upper" | "idBase">,
  /** Only files have their times: those of folders and links are lost when an archive is unpacked. */
  isTimeless = false,
): AsyncGenerator<Buffer> {
  const options = [
    "--format=pax",
    "--xattrs",
    `--xattrs-include=${opaqueAttribute}`,
    "--numeric-owner",
    "--sort=name",
    "--one-file-system",
  ];
  const child = spawnPiped("nice", ["-n", "10", "tar", "--create", ...options, "-C", upper, "."], { env: { ...process.env, LC_ALL: "C" } });
  let text = "";
  child.stderr.setEncoding("utf8").on("data", (more: string) => {
    text = (text + more).slice(0, 2000);
  });
  const ended = new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? 128));
  });
  ended.catch(() => undefined);
  child.stdin.end();
  try {
    for await (const entry of readTar(child.stdout))
      yield* rewritten(isTimeless && !"0\0".includes(entry.type) ? { ...entry, mtime: 0 } : entry, node, idBase);
    const code = await ended;
    if (code !== 0) throw hostError(`node ${node}: its files could not be read: ${text.trim() || `tar ended with code ${code}`}`);
  } catch (error) {
    if (error instanceof ArchiveError) throw hostError(`node ${node}: its files could not be read: ${text.trim() || error.message}`);
    throw error;
  } finally {
    child.kill("SIGKILL");
  }
}

async function* rewritten(entry: TarEntry, node: string, idBase: number): AsyncGenerator<Buffer> {
  const path = entry.name.replace(/^\.\/?/, "").replace(/\/$/, "");
  const slash = path.lastIndexOf("/") + 1;
  const [folder, name] = [path.slice(0, slash), path.slice(slash)];
  if (name.startsWith(".wh."))
    throw hostError(
      `node ${node}: the name of /${Buffer.from(path, "latin1").toString("utf8")} marks removed files in archives: rename the file or remove it`,
    );
  const fields = { mode: entry.mode, uid: inside(entry.uid, idBase), gid: inside(entry.gid, idBase), mtime: Math.max(0, entry.mtime) };
  const head = (more: Omit<TarWrite, "data">, size = 0) => entryHead({ ...fields, ...more }, size);
  switch (entry.type) {
    case "5":
      yield head({ name: path === "" ? "./" : `${path}/`, type: "5" });
      if (entry.opaque) yield head({ name: `${path === "" ? "" : `${path}/`}.wh..wh..opq` });
      return;
    case "0":
    case "\0":
      yield head({ name: path, type: "0" }, entry.size);
      yield* exactly(entry.data(), entry.size, `node ${node}: /${path}`);
      return;
    case "1":
      yield head({ name: path, type: "1", link: entry.link.replace(/^\.\//, "") });
      return;
    case "2":
      yield head({ name: path, type: "2", link: entry.link });
      return;
    case "3":
      // Nodes can make no devices but whiteouts.
      yield head({ name: `${folder}.wh.${name}` });
      return;
    case "6":
      yield head({ name: path, type: "6" });
      return;
    default:
      return;
  }
}

function inside(id: number, idBase: number): number {
  const found = id - idBase;
  return found >= 0 && found <= maxId ? found : nobody;
}

export function hostError(message: string): Failure {
  return new Failure("host_error", message, { data: { host: { message } } });
}
