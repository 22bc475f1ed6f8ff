import { createHash, randomUUID } from "node:crypto";
import { constants, createReadStream } from "node:fs";
import { chown, lstat, mkdir, open, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Failure } from "../../../contract/errors.ts";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import type { DiskCopy } from "../../host-disks.ts";
import type { DefinedNode, LabDefinition } from "../definitions/definition.ts";
import { makeTraversableDirectory } from "../files/traversable-directory.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { nodeLimits } from "../templates/node-needs.ts";
import { type DiskBase, diskBase } from "./disk-base.ts";
import { refuseFull } from "./export-disks.ts";
import type { Transfer } from "./transfer-store.ts";
import { unpackDisk } from "./unpack-disk.ts";

/** Maximum bytes of the disk of a virtual machine without a limit of its own. */
const maxMachineBytes = 128 * 1024 ** 3;
/** Headers of a tar archive. */
const spare = 16 * 1024 ** 2;

export function badDisks(message: string): Failure {
  return new Failure("bad_request", message, { data: { problems: [{ path: "/disks", message }] } });
}

/** Throws bad_request if a disk does not fit this host, and host_error if there is no room for the parts and the unpacked disks. */
export async function checkDeclared(disks: readonly DiskCopy[], catalogue: Catalogue, directory: string): Promise<void> {
  if (disks.length === 0) throw badDisks("there are no disks");
  const names = new Set<string>();
  for (const disk of disks) {
    if (names.has(disk.node)) throw badDisks(`node ${disk.node} has two disks`);
    names.add(disk.node);
    const base = await fittingBase(disk, catalogue);
    if (base === undefined) throw badDisks(`node ${disk.node}: nodes of template ${disk.template} have no disk`);
    const most = maxBytes(disk, catalogue);
    if (disk.bytes > most)
      throw badDisks(`node ${disk.node}: its disk has ${disk.bytes} bytes, and its nodes may have ${most} on this host`);
  }
  await refuseFull(directory, 2 * disks.reduce((sum, { bytes }) => sum + bytes, 0));
}

function maxBytes(disk: DiskCopy, catalogue: Catalogue): number {
  const { disk: limit } = nodeLimits(disk, catalogue.template(disk.template));
  return limit === 0 ? maxMachineBytes : limit * 1024 ** 2 + spare;
}

/** Overlays of blocks are worthless on another image. */
async function fittingBase(disk: DiskCopy, catalogue: Catalogue): Promise<DiskBase | undefined> {
  const base = await diskBase({ ...disk, name: disk.node }, catalogue);
  if (base === undefined) return undefined;
  if (base.kind !== disk.kind) throw badDisks(`node ${disk.node}: its disk is not that of a node of template ${disk.template}`);
  if (base.kind === "machine" && machineBase(base.base) !== machineBase(disk.base))
    throw badDisks(
      `node ${disk.node}: its disk is the difference to another image than ${base.image.name} of this host: labwright image add the file that the other host has`,
    );
  return base;
}

function machineBase(base: string): string {
  return base.slice(0, 64);
}

/**
 * Appends a part. Returns the bytes that are there. Throws host_error if the machine has no room: uploads that began when there was enough may have filled it
 * together.
 */
export async function writePart(file: string, disk: DiskCopy, offset: number, data: Uint8Array): Promise<number> {
  await using out = await open(file, constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  const { size } = await out.stat();
  if (offset !== size) return size;
  await refuseFull(dirname(file), data.length);
  if (size + data.length > disk.bytes) throw badDisks(`node ${disk.node}: more than the ${disk.bytes} bytes that were announced`);
  for (let at = 0; at < data.length; ) at += (await out.write(data, at, data.length - at, size + at)).bytesWritten;
  return size + data.length;
}

export async function receivedBytes(file: string): Promise<number> {
  return lstat(file).then(
    ({ size }) => size,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return 0;
      throw error;
    },
  );
}

/** Throws bad_request if a disk is incomplete, or is not what was announced. */
export async function checkReceived(transfer: Transfer, fileOf: (index: number) => string): Promise<void> {
  for (const [index, { node, bytes, sha256 }] of transfer.disks.entries()) {
    const received = await receivedBytes(fileOf(index));
    if (received < bytes) throw badDisks(`node ${node}: ${received} of ${bytes} bytes were uploaded: continue the upload`);
    const hash = createHash("sha256");
    for await (const chunk of createReadStream(fileOf(index), { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
    if (hash.digest("hex") !== sha256)
      throw badDisks(`node ${node}: the SHA-256 digest of its disk is not the announced one: begin the upload again`);
  }
}

export interface UnpackedLab {
  readonly definition: LabDefinition;
  /** For people. */
  readonly note?: string;
}

/**
 * Makes the directory of a lab whose disks are kept, from uploaded archives, which are removed one by one. Throws bad_request for a disk that is damaged or unsafe.
 * @param directory made; its name will be the id of the lab
 */
export async function unpackDisks(
  transfer: Transfer,
  fileOf: (index: number) => string,
  directory: string,
  { catalogue, images }: { readonly catalogue: Catalogue; readonly images: string },
): Promise<UnpackedLab> {
  await makeTraversableDirectory(directory);
  const nodes = join(directory, "nodes");
  await mkdir(nodes, { mode: 0o755 });
  const other: string[] = [];
  const made: DefinedNode[] = [];
  for (const [index, disk] of transfer.disks.entries()) {
    const base = await fittingBase(disk, catalogue);
    if (base === undefined) throw badDisks(`node ${disk.node}: nodes of template ${disk.template} have no disk`);
    if (base.base !== disk.base) other.push(disk.node);
    const id = index + 1;
    const options = { node: disk.node, archive: fileOf(index), base, images, maxBytes: maxBytes(disk, catalogue) };
    await unpackDisk({ ...options, disk: join(nodes, String(id)), work: join(directory, "work") }).catch((error: unknown) => {
      throw error instanceof ArchiveError ? badDisks([error.message, error.hint].filter(Boolean).join(": ")) : error;
    });
    await rm(fileOf(index));
    made.push(stoppedNode(id, disk));
  }
  const definition = keptDefinition(transfer, made);
  await writeFile(join(directory, "kept.json"), `${JSON.stringify(definition)}\n`, { mode: 0o600, flag: "wx" });
  if (process.getuid?.() === 0) await chown(join(directory, "kept.json"), 0, 0);
  const note = `the image on the host they come from is another build: ${other.join(", ")}`;
  return { definition, ...(other.length > 0 && { note }) };
}

function keptDefinition({ lab, user }: Transfer, nodes: readonly DefinedNode[]): LabDefinition {
  return {
    version: 1,
    id: randomUUID(),
    path: lab,
    name: lab.slice(lab.lastIndexOf("/") + 1),
    owner: user,
    locked: false,
    next: { node: nodes.length + 1, network: 1, link: 1 },
    nodes,
    networks: [],
    links: [],
    texts: [],
    trafficFilters: [],
  };
}

function stoppedNode(id: number, { node, template, image, kernel }: DiskCopy): DefinedNode {
  return {
    ...{ id, name: node, template, exec: [], ethernet: 0, env: {}, attributes: {}, labels: {}, power: "stopped" },
    ...(image !== undefined && { image }),
    ...(kernel !== undefined && { kernel }),
  };
}
