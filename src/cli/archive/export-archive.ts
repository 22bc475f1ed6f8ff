import { statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Lab } from "../../intent/lab/lab.ts";
import type { Arguments } from "../command/arguments.ts";
import type { Context } from "../command/context.ts";
import { UsageError } from "../command/usage-error.ts";
import { checkOutput } from "../project-files/check-output.ts";
import { mustBeNew } from "../project-files/write-project.ts";
import { bytes } from "../show/table.ts";
import { type PackedDisks, packDisks } from "./pack-disks.ts";
import { packCaptures, packFile } from "./pack-lab.ts";
import { archiveFiles, type PackedFile, writeArchive } from "./write-archive.ts";

/** Parts of a lab that are on the host. */
export const archiveParts = ["captures", "disks"] as const;

/** Writes the lab's file, the files that it names, and its packet captures and disks into one archive. Returns the path. */
export async function exportArchive(context: Context, args: Arguments, lab: Lab): Promise<string> {
  const output = args.text("output") ?? `${lab.name}.labwright.tar.gz`;
  await mustBeNew(output);
  await checkOutput(output);
  const { file, selector } = await context.projectFile();
  const { lab: path, files } = packFile(file);
  const parts = args.list("with");
  const place = selector.lab ?? `/${lab.name}`;
  if (parts.includes("captures")) {
    const used = [...files.values()].reduce((sum, { length }) => sum + length, 0);
    const captures = await packCaptures(await context.client(), place, used);
    for (const [name, data] of captures.files) files.set(name, data);
    for (const large of captures.leftOut) context.terminal.complain(`left out, too large for an archive: ${large}`);
    context.terminal.note(`${captures.files.size} captures`);
  }
  if (!parts.includes("disks")) {
    await writeArchive(output, archiveFiles(lab.name, path, files));
    return output;
  }
  const client = await context.client();
  const packed = await packDisks(client, place);
  try {
    await tellSize(context, output, packed);
    const all = new Map<string, PackedFile>([...files, ...packed.files]);
    await writeArchive(output, archiveFiles(lab.name, path, all, packed.disks));
  } finally {
    await client.removeDiskTransfer({ id: packed.transfer });
  }
  return output;
}

/** Compression makes the archive smaller, which nobody knows before. Throws UsageError if the disks do not fit uncompressed. */
async function tellSize({ terminal }: Context, output: string, { disks, bytes: size }: PackedDisks): Promise<void> {
  const { bavail, bsize } = await statfs(dirname(resolve(output)));
  const room = bavail * bsize;
  if (size > room)
    throw new UsageError(
      `the disks have ${bytes(size)}, and ${bytes(room)} are free for ${output}`,
      "name another file with --output, or make room",
    );
  terminal.note(
    disks.length === 0
      ? "no node has a disk: none has run yet"
      : `disks of ${disks.map(({ node }) => node).join(", ")}: ${bytes(size)} before compression`,
  );
}
