import { ArchiveError } from "../../../files/tar/archive-error.ts";
import { findImages, type LocalImage } from "../images/images.ts";
import { commandLine, UsageError } from "../machine/command-line.ts";
import { idRange } from "../machine/idmap.ts";
import { type LocalPaths, localPaths } from "../machine/paths.ts";
import type { PullEvent } from "../registries/pulls.ts";
import { readSettings } from "../registries/settings.ts";
import { addImage } from "./add-image.ts";
import { unpackLimits } from "./archive/budget.ts";
import { imageUsers } from "./image-users.ts";
import { machinePlatform } from "./platform.ts";
import { pruneImages } from "./prune-images.ts";
import { pullImage } from "./pull-image.ts";
import { removeImage } from "./remove-image.ts";
import { diskUse } from "./store/disk-use.ts";
import type { AddedImage } from "./store/store-image.ts";

const help = `Usage: labwright image pull REFERENCE [--always] [--platform OS/ARCH]
       labwright image add FILE [--name NAME] [--ref NAME] [--platform OS/ARCH] [--max-bytes N] [--replace]
       labwright image list [--format json]
       labwright image remove NAME
       labwright image prune [--all] [--dry-run]

Pulls, adds, lists or removes container images of this machine's embedded host, for nodes of template container. REFERENCE is an image of a
registry, such as registry.example/frrouting/frr:10.2; labwright registry sets the registries. FILE is the output of docker save or podman save,
an OCI image layout (directory or tar archive), or a tar archive of a root file system. Archives may be compressed with gzip, zstd or xz.
docker-daemon:NAME and containers-storage:NAME are images of docker and podman on this machine.

  --always            ask the registry even if the image is here
  --name NAME         the image's name in Labwright; default: its name in the archive, otherwise the file's
  --ref NAME          the image to add if the archive has several
  --platform OS/ARCH  the platform to pull or add; default: the one of this machine
  --max-bytes N       the maximum unpacked size in bytes; default: ${unpackLimits.bytes}
  --replace           replace an image of the same name; nodes use the new one from their next start
  --all               prune also images that were added from files
  --dry-run           show what prune would remove
  --format FORMAT     table or json
  --help`;

const flags = {
  name: { type: "string" },
  ref: { type: "string" },
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
  const most = action === "list" || action === "prune" ? operand : rest[0];
  if (most !== undefined) throw new UsageError(`"${most}" is one argument too many`);
  switch (action) {
    case "list":
      return list(paths, json);
    case "pull":
      if (operand === undefined) throw new UsageError("pull needs the reference of an image");
      if (values.events === true) return pullWithEvents(paths, operand, values, stop);
      return pull(paths, operand, values, json, stop.signal);
    case "add":
      if (operand === undefined) throw new UsageError("add needs the file of an archive");
      return add(paths, operand, values, json, stop.signal);
    case "remove":
      if (operand === undefined) throw new UsageError("remove needs the name of an image");
      await removeImage(paths.images, paths.state, operand);
      console.log(json ? JSON.stringify({ name: operand, removed: true }) : `${operand}: removed`);
      return;
    case "prune":
      return prune(paths, values, json);
    default:
      throw new UsageError(`image has no action "${action}": the actions are pull, add, list, remove and prune`);
  }
}

async function list({ images: directory, state }: LocalPaths, json: boolean): Promise<void> {
  const images = (await findImages(directory)).filter((image) => image.container !== undefined);
  const users = await imageUsers(state);
  if (json) {
    console.log(
      JSON.stringify(
        images.map((image) => ({ ...shownImage(image), used_by: users.of(image.name) })),
        null,
        2,
      ),
    );
    return;
  }
  if (images.length === 0) return console.log("no container images: labwright image pull REFERENCE, or labwright image add FILE");
  const { bytes, layers } = await diskUse(directory);
  console.log(tableOf(images, (name) => users.of(name).join(", ")));
  console.log(`${images.length} ${images.length === 1 ? "image" : "images"}, ${megabytes(bytes)} on disk in ${layers} layers`);
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
async function pullWithEvents(paths: LocalPaths, reference: string, values: Values, stop: AbortController): Promise<void> {
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
    const { unchanged } = await pullImage({ ...pullOptions(paths, reference, values), settings, say, signal: stop.signal });
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
  const bytes = Number(values["max-bytes"] ?? unpackLimits.bytes);
  if (!Number.isSafeInteger(bytes) || bytes <= 0) throw new UsageError("--max-bytes takes a number of bytes");
  const added = await addImage({
    file,
    directory: paths.images,
    name: values.name,
    ref: values.ref,
    platform: values.platform ?? machinePlatform(),
    replace: values.replace === true,
    idBase: process.getuid?.() === 0 ? idRange.base : undefined,
    limits: { ...unpackLimits, bytes },
    now: () => new Date(),
    say: progress,
    signal,
  });
  show(added, json, "was there already", "added");
}

function show({ record, unchanged, notes }: AddedImage, json: boolean, same: string, done: string): void {
  if (process.stderr.isTTY === true) process.stderr.write("\r\x1b[K");
  for (const note of notes) console.error(`note: ${note}`);
  const { name, size_bytes, layers } = record;
  if (json) console.log(JSON.stringify({ name, size_bytes, layers: layers.length, unchanged }, null, 2));
  else console.log(`${name}: ${unchanged ? same : `${done}, ${layers.length} layers, ${megabytes(size_bytes)}`}`);
}

function progress(text: string): void {
  if (process.stderr.isTTY === true) process.stderr.write(`\r\x1b[K${printable(text)}`);
}

async function prune({ images, state }: LocalPaths, values: Values, json: boolean): Promise<void> {
  const dry = values["dry-run"] === true;
  const { images: names, bytes } = await pruneImages(images, state, { all: values.all === true, dry });
  if (json) return console.log(JSON.stringify({ images: names, bytes, dry_run: dry }, null, 2));
  for (const name of names) console.log(`${printable(name)}: ${dry ? "would be removed" : "removed"}`);
  if (names.length === 0 && bytes === 0) console.log("nothing to remove: labs use all pulled images");
  else console.log(`${megabytes(bytes)} ${dry ? "would be free" : "are free"}`);
}

function shownImage({ name, description, size, modified, layers, container, pulled }: LocalImage) {
  return {
    name,
    description,
    size_bytes: size,
    modified_at: modified,
    layers: layers.length,
    ...container,
    ...(pulled !== undefined && { pulled }),
  };
}

function tableOf(images: readonly LocalImage[], usersOf: (name: string) => string): string {
  const rows = images.map(({ name, size, layers, modified, container, pulled }) => [
    name,
    megabytes(size),
    String(layers.length),
    modified,
    pulled?.registry ?? "file",
    usersOf(name) || "-",
    [...(container?.entrypoint ?? []), ...(container?.command ?? [])].join(" "),
  ]);
  const all = [["NAME", "SIZE", "LAYERS", "ADDED", "FROM", "USED BY", "RUNS"], ...rows];
  const widths = [0, 1, 2, 3, 4, 5].map((column) => Math.max(...all.map((row) => row[column]!.length)));
  // Texts of an image must not control the terminal.
  return all
    .map((row) =>
      printable(
        row
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join("  ")
          .trimEnd(),
      ),
    )
    .join("\n");
}

function printable(text: string): string {
  return text.replace(/[^\x20-\x7e\xa0-\uffff]/g, "?");
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
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
  else console.error(`error: ${(error as Error).message}`);
  process.exitCode = 1;
}
