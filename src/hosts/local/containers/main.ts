import { ArchiveError } from "../../../files/tar/archive-error.ts";
import { findImages, type LocalImage } from "../images/images.ts";
import { commandLine, UsageError } from "../machine/command-line.ts";
import { idRange } from "../machine/idmap.ts";
import { localPaths } from "../machine/paths.ts";
import { addImage } from "./add-image.ts";
import { unpackLimits } from "./archive/budget.ts";
import { machinePlatform } from "./platform.ts";
import { removeImage } from "./remove-image.ts";

const help = `Usage: labwright image add FILE [--name NAME] [--ref NAME] [--platform OS/ARCH] [--max-bytes N] [--replace]
       labwright image list [--format json]
       labwright image remove NAME

Adds, lists or removes container images of this machine's embedded host, for nodes of template container. FILE is the output of docker save or
podman save, an OCI image layout (directory or tar archive), or a tar archive of a root file system. Archives may be compressed with gzip, zstd or xz.

  --name NAME         the image's name in Labwright; default: its name in the archive, otherwise the file's
  --ref NAME          the image to add if the archive has several
  --platform OS/ARCH  the platform to add; default: the one of this machine
  --max-bytes N       the maximum unpacked size in bytes; default: ${unpackLimits.bytes}
  --replace           replace an image of the same name; nodes use the new one from their next start
  --format FORMAT     table or json
  --help`;

async function main(signal: AbortSignal): Promise<void> {
  const { values, positionals, json } = commandLine({
    name: { type: "string" },
    ref: { type: "string" },
    platform: { type: "string" },
    "max-bytes": { type: "string" },
    replace: { type: "boolean" },
  });
  const [action, operand, ...rest] = positionals;
  if (values.help === true || action === undefined) {
    console.log(help);
    return;
  }
  const uid = process.getuid?.() ?? 0;
  const paths = localPaths(process.env, uid);
  if (rest.length > 0) throw new UsageError(`"${rest[0]}" is one argument too many`);
  switch (action) {
    case "list": {
      if (operand !== undefined) throw new UsageError(`"${operand}" is one argument too many`);
      const images = (await findImages(paths.images)).filter((image) => image.container !== undefined);
      console.log(json ? JSON.stringify(images.map(shownImage), null, 2) : tableOf(images));
      return;
    }
    case "add": {
      if (operand === undefined) throw new UsageError("add needs the file of an archive");
      const bytes = Number(values["max-bytes"] ?? unpackLimits.bytes);
      if (!Number.isSafeInteger(bytes) || bytes <= 0) throw new UsageError("--max-bytes takes a number of bytes");
      const { record, unchanged, notes } = await addImage({
        file: operand,
        directory: paths.images,
        name: values.name,
        ref: values.ref,
        platform: values.platform ?? machinePlatform(),
        replace: values.replace === true,
        idBase: uid === 0 ? idRange.base : undefined,
        limits: { ...unpackLimits, bytes },
        now: () => new Date(),
        say: (text) => process.stderr.isTTY === true && process.stderr.write(`\r\x1b[K${text}`),
        signal,
      });
      if (process.stderr.isTTY === true) process.stderr.write("\r\x1b[K");
      for (const note of notes) console.error(`note: ${note}`);
      if (json)
        console.log(JSON.stringify({ name: record.name, size_bytes: record.size_bytes, layers: record.layers.length, unchanged }, null, 2));
      else
        console.log(
          `${record.name}: ${unchanged ? "was there already" : `added, ${record.layers.length} layers, ${megabytes(record.size_bytes)}`}`,
        );
      return;
    }
    case "remove":
      if (operand === undefined) throw new UsageError("remove needs the name of an image");
      await removeImage(paths.images, paths.state, operand);
      console.log(json ? JSON.stringify({ name: operand, removed: true }) : `${operand}: removed`);
      return;
    default:
      throw new UsageError(`image has no action "${action}": the actions are add, list and remove`);
  }
}

function shownImage({ name, description, size, modified, layers, container }: LocalImage) {
  return { name, description, size_bytes: size, modified_at: modified, layers: layers.length, ...container };
}

function tableOf(images: readonly LocalImage[]): string {
  if (images.length === 0) return "no container images: labwright image add FILE";
  const rows = images.map(({ name, size, layers, modified, container }) => [
    name,
    megabytes(size),
    String(layers.length),
    modified,
    [...(container?.entrypoint ?? []), ...(container?.command ?? [])].join(" "),
  ]);
  const all = [["NAME", "SIZE", "LAYERS", "ADDED", "RUNS"], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((row) => row[column]!.length)));
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
  await main(stop.signal);
} catch (error) {
  if (error instanceof ArchiveError) {
    console.error(`error: ${printable(error.message)} (${error.code})`);
    if (error.hint !== undefined) console.error(`  hint: ${error.hint}`);
  } else if (error instanceof UsageError) console.error(`error: image: ${error.message}\n  hint: labwright image --help`);
  else console.error(`error: ${(error as Error).message}`);
  process.exitCode = 1;
}
