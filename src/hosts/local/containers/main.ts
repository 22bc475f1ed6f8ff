import { join } from "node:path";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import { imageRecords, readImages } from "../images/images.ts";
import { findVmImages } from "../images/vm-images.ts";
import { commandLine, UsageError, unexpectedText } from "../machine/command-line.ts";
import { idRange } from "../machine/idmap.ts";
import { type LocalPaths, localPaths } from "../machine/paths.ts";
import type { PullEvent } from "../registries/pulls.ts";
import { type RegistrySettings, readSettings } from "../registries/settings.ts";
import { problemText } from "../templates/reading/read-template.ts";
import { builtinTemplates, loadTemplates } from "../templates/reading/templates.ts";
import { addVmImage, genericTemplate } from "../vm-images/add-vm-image.ts";
import { pruneVmImages, removeVmImage } from "../vm-images/remove-vm-image.ts";
import { isVmSource } from "../vm-images/source-kind.ts";
import { addImage } from "./add-image.ts";
import { unpackLimits } from "./archive/budget.ts";
import { addedVmText, megabytes, printable, shownAddedVm, shownImage, shownVmImage, tableOf, vmTableOf } from "./image-texts.ts";
import { imageUsers } from "./image-users.ts";
import { localStore } from "./local-stores.ts";
import { machinePlatform } from "./platform.ts";
import { pruneImages } from "./prune-images.ts";
import { pullImage } from "./pull-image.ts";
import { receiveImage } from "./receive-image.ts";
import { removeImage } from "./remove-image.ts";
import { diskUse } from "./store/disk-use.ts";
import type { AddedImage } from "./store/store-image.ts";

const help = `Usage: labwright image pull REFERENCE [--always] [--platform OS/ARCH]
       labwright image add FILE [--name NAME] [--ref NAME] [--platform OS/ARCH] [--max-bytes N] [--replace]
       labwright image add FILE... [--template NAME] [--name NAME] [--max-bytes N] [--replace]
       labwright image list [--format json]
       labwright image remove NAME
       labwright image prune [--all] [--dry-run]

Pulls, adds, lists or removes images of this machine's embedded host: of containers, for nodes of template container, and of virtual machines, for
nodes of templates such as vios, veos or qemu. REFERENCE is an image of a registry, such as registry.example/frrouting/frr:10.2; labwright registry
sets the registries. The content of FILE decides what it is, not its name:

  container         the output of docker save or podman save, an OCI image layout (directory or tar archive), or a tar archive of a root file
                    system; docker-daemon:NAME and containers-storage:NAME are images of docker and podman on this machine
  virtual machine   disks as qcow2, VMDK, OVA or raw with a partition table, and a CD as ISO; several FILEs, or a directory, are the disks and
                    the CD of one machine. The file's name chooses the template, which labwright templates NAME shows

Files may be compressed with gzip, zstd or xz.

  --always            ask the registry even if the image is here
  --name NAME         the image's name in Labwright; default: its name in the archive, otherwise the file's
  --template NAME     the template of a virtual machine; default: the one that knows the file's name, otherwise ${genericTemplate}
  --ref NAME          the image to add if the archive has several
  --platform OS/ARCH  the platform to pull or add; default: the one of this machine
  --max-bytes N       the maximum unpacked size in bytes; default: ${unpackLimits.bytes}
  --replace           replace an image of the same name; nodes use the new one from their next start. A virtual machine's must have no nodes
  --all               prune also images that were added from files
  --dry-run           show what prune would remove
  --format FORMAT     table or json
  --help

ls and rm are short for list and remove.`;

const flags = {
  name: { type: "string" },
  ref: { type: "string" },
  template: { type: "string" },
  platform: { type: "string" },
  "max-bytes": { type: "string" },
  replace: { type: "boolean" },
  always: { type: "boolean" },
  all: { type: "boolean" },
  "dry-run": { type: "boolean" },
  // For the service: the user whose lab needs the image, and progress as JSON lines until the input ends.
  by: { type: "string" },
  events: { type: "boolean" },
} as const;

type Values = ReturnType<typeof commandLine<typeof flags>>["values"];

async function main(stop: AbortController): Promise<void> {
  const { values, positionals, json } = commandLine(flags);
  const [action, operand, ...rest] = positionals;
  if (values.help === true || action === undefined) {
    console.log(help);
    return;
  }
  const paths = localPaths(process.env, process.getuid?.() ?? 0);
  const most = /^(list|ls|prune)$/.test(action) ? operand : action === "add" ? undefined : rest[0];
  if (most !== undefined) throw new UsageError(`"${most}" is one argument too many`);
  switch (action) {
    case "list":
    case "ls":
      return list(paths, json);
    case "pull":
      if (operand === undefined) throw new UsageError("pull needs the reference of an image");
      if (values.events === true)
        return withEvents(paths, stop, async (say, settings) =>
          pullImage({ ...pullOptions(paths, operand, values), settings, say, signal: stop.signal }),
        );
      return pull(paths, operand, values, json, stop.signal);
    case "receive":
      // For the service: the file describes an image of another machine of the fleet.
      if (operand === undefined || values.events !== true || values.by === undefined) throw new UsageError("receive is for the service");
      return withEvents(paths, stop, async (say) => {
        await receiveImage({ file: operand, paths, by: values.by!, say, signal: stop.signal });
        return { unchanged: false };
      });
    case "add":
      if (operand === undefined) throw new UsageError("add needs the file of an archive or of a disk");
      if (rest.length > 0 || values.template !== undefined || (localStore(operand) === undefined && (await isVmSource(operand))))
        return addVm(paths, [operand, ...rest], values, json, stop.signal);
      return add(paths, operand, values, json, stop.signal);
    case "remove":
    case "rm":
      if (operand === undefined) throw new UsageError("remove needs the name of an image");
      await remove(paths, operand);
      console.log(json ? JSON.stringify({ name: operand, removed: true }) : `${operand}: removed`);
      return;
    case "prune":
      return prune(paths, values, json);
    default:
      throw new UsageError(`image has no action "${action}": the actions are pull, add, list, remove and prune`);
  }
}

async function list({ images: directory, vmImages, state }: LocalPaths, json: boolean): Promise<void> {
  const containers = await readImages(directory);
  const images = containers.images.filter((image) => image.container !== undefined);
  const machines = await findVmImages(vmImages);
  const users = await imageUsers(state);
  for (const problem of [...containers.problems, ...machines.problems]) console.error(`note: ${printable(problem)}`);
  if (json) {
    const all = [...images.map(shownImage), ...machines.images.map(shownVmImage)];
    console.log(
      JSON.stringify(
        all.map((image) => ({ ...image, used_by: users.of(image.name) })),
        null,
        2,
      ),
    );
    return;
  }
  const usersOf = (name: string) => users.of(name).join(", ") || "-";
  if (images.length + machines.images.length === 0) console.log("no images: labwright image pull REFERENCE, or labwright image add FILE");
  if (images.length > 0) {
    const { bytes, layers } = await diskUse(directory);
    console.log(tableOf(images, usersOf));
    console.log(`${counted(images.length)}, ${megabytes(bytes)} on disk in ${layers} layers`);
  }
  if (machines.images.length > 0) {
    const bytes = machines.images.reduce((sum, { size }) => sum + size, 0);
    console.log(`${images.length > 0 ? "\n" : ""}${vmTableOf(machines.images, usersOf)}`);
    console.log(`${counted(machines.images.length)} of virtual machines, ${megabytes(bytes)} on disk`);
  }
}

function counted(count: number): string {
  return `${count} ${count === 1 ? "image" : "images"}`;
}

async function remove({ images, vmImages, state }: LocalPaths, name: string): Promise<void> {
  const isMachine = (await findVmImages(vmImages)).images.some((image) => image.name === name);
  const isContainer = [...(await imageRecords(images)).values()].some((image) => image.container !== undefined && image.name === name);
  if (isMachine && isContainer)
    throw new ArchiveError(
      "ambiguous",
      `${name} is an image of a container and of a virtual machine`,
      `to remove the image of the virtual machine, remove the directory ${join(vmImages, name)}`,
    );
  if (!isMachine && !isContainer) throw new ArchiveError("not_found", `there is no image ${name}`, "labwright image list shows them");
  if (isContainer) return removeImage(images, state, name);
  const users = await imageUsers(state);
  return removeVmImage(vmImages, name, (image) => users.of(image));
}

function pullOptions({ images, state }: LocalPaths, reference: string, { platform, always, by }: Values) {
  return {
    reference,
    directory: images,
    state,
    always: always === true,
    by,
    platform: platform ?? machinePlatform(),
    now: () => new Date(),
  };
}

async function pull(paths: LocalPaths, reference: string, values: Values, json: boolean, signal: AbortSignal): Promise<void> {
  const settings = await readSettings(paths.state);
  const added = await pullImage({ ...pullOptions(paths, reference, values), settings, say: progress, signal });
  show(added, json, "was here already", "pulled");
}

/** Runs for the service: ends with its input, so that a killed service leaves no pull. */
async function withEvents(
  paths: LocalPaths,
  stop: AbortController,
  work: (say: (text: string) => void, settings: RegistrySettings) => Promise<{ readonly unchanged: boolean }>,
): Promise<void> {
  const send = (event: PullEvent) => process.stdout.write(`${JSON.stringify(event)}\n`);
  process.stdin.on("end", () => stop.abort(new ArchiveError("interrupted", "the service ended"))).resume();
  let last = 0;
  const say = (text: string) => {
    if (performance.now() - last < eventMs) return;
    last = performance.now();
    send({ progress: text });
  };
  let limit: NodeJS.Timeout | undefined;
  try {
    const settings = await readSettings(paths.state);
    const { minutes } = settings.limits;
    const late = new ArchiveError("timeout", `it took more than ${minutes} minutes`, "the next try continues the download");
    limit = setTimeout(() => stop.abort(late), minutes * 60_000);
    const { unchanged } = await work(say, settings);
    send({ done: { unchanged } });
  } catch (error) {
    const { message } = error as Error;
    const { code, hint } = error instanceof ArchiveError ? error : { code: "internal", hint: undefined };
    send({ error: { code, message, ...(hint !== undefined && { hint }) } });
  } finally {
    clearTimeout(limit);
    process.stdin.destroy();
  }
}

/** Time between two reports of progress, ms. */
const eventMs = 250;

async function add(paths: LocalPaths, file: string, values: Values, json: boolean, signal: AbortSignal): Promise<void> {
  const added = await addImage({
    file,
    directory: paths.images,
    name: values.name,
    ref: values.ref,
    platform: values.platform ?? machinePlatform(),
    replace: values.replace === true,
    idBase: process.getuid?.() === 0 ? idRange.base : undefined,
    limits: { ...unpackLimits, bytes: maxBytes(values) },
    now: () => new Date(),
    say: progress,
    signal,
  });
  show(added, json, "was there already", "added");
}

function show({ record, unchanged, notes }: AddedImage, json: boolean, same: string, done: string): void {
  clearProgress();
  for (const note of notes) console.error(`note: ${note}`);
  const { name, size_bytes, layers } = record;
  if (json) console.log(JSON.stringify({ name, size_bytes, layers: layers.length, unchanged }, null, 2));
  else console.log(`${name}: ${unchanged ? same : `${done}, ${layers.length} layers, ${megabytes(size_bytes)}`}`);
}

function clearProgress(): void {
  if (process.stderr.isTTY === true) process.stderr.write("\r\x1b[K");
}

function progress(text: string): void {
  if (process.stderr.isTTY === true) process.stderr.write(`\r\x1b[K${printable(text)}`);
}

async function addVm(paths: LocalPaths, files: readonly string[], values: Values, json: boolean, signal: AbortSignal): Promise<void> {
  for (const flag of ["ref", "platform"] as const)
    if (values[flag] !== undefined) throw new UsageError(`--${flag} is for images of containers`);
  const { templates, problems } = await loadTemplates([builtinTemplates, join(paths.state, "templates")]);
  for (const problem of problems) console.error(`note: ${printable(problemText(problem))}`);
  const users = await imageUsers(paths.state);
  const added = await addVmImage({
    files,
    directory: paths.vmImages,
    images: paths.images,
    templates,
    name: values.name,
    template: values.template,
    replace: values.replace === true,
    usersOf: (name) => users.of(name),
    limits: { ...unpackLimits, bytes: maxBytes(values) },
    now: () => new Date(),
    say: progress,
    signal,
  });
  clearProgress();
  if (json) console.log(JSON.stringify(shownAddedVm(added), null, 2));
  else console.log(addedVmText(added));
}

function maxBytes(values: Values): number {
  const bytes = Number(values["max-bytes"] ?? unpackLimits.bytes);
  if (!Number.isSafeInteger(bytes) || bytes <= 0) throw new UsageError("--max-bytes takes a number of bytes");
  return bytes;
}

async function prune({ images, vmImages, state }: LocalPaths, values: Values, json: boolean): Promise<void> {
  const dry = values["dry-run"] === true;
  const containers = await pruneImages(images, state, { all: values.all === true, dry });
  const users = await imageUsers(state);
  const machines = values.all === true ? await pruneVmImages(vmImages, (name) => users.of(name), dry) : { images: [], bytes: 0 };
  const names = [...containers.images, ...machines.images];
  const bytes = containers.bytes + machines.bytes;
  if (json) return console.log(JSON.stringify({ images: names, bytes, dry_run: dry }, null, 2));
  for (const name of names) console.log(`${printable(name)}: ${dry ? "would be removed" : "removed"}`);
  if (names.length === 0 && bytes === 0) console.log("nothing to remove: labs use all pulled images");
  else console.log(`${megabytes(bytes)} ${dry ? "would be free" : "are free"}`);
}

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => stop.abort(new ArchiveError("interrupted", "no image was added")));
try {
  await main(stop);
} catch (error) {
  if (error instanceof ArchiveError) {
    console.error(`error: ${printable(error.message)} (${error.code})`);
    if (error.hint !== undefined) console.error(`  hint: ${error.hint}`);
  } else if (error instanceof UsageError) console.error(`error: image: ${error.message}\n  hint: labwright image --help`);
  else console.error(unexpectedText(error));
  process.exitCode = 1;
}
