import type { Lab } from "../../intent/lab/lab.ts";
import type { Arguments } from "../command/arguments.ts";
import type { Context } from "../command/context.ts";
import { checkOutput } from "../project-files/check-output.ts";
import { mustBeNew } from "../project-files/write-project.ts";
import { packCaptures, packFile } from "./pack-lab.ts";
import { archiveFiles, writeArchive } from "./write-archive.ts";

/** Parts of a lab that are on the host. */
export const archiveParts = ["captures"] as const;

/** Writes the lab's file, the files that it names, and its packet captures into one archive. Returns the path. */
export async function exportArchive(context: Context, args: Arguments, lab: Lab): Promise<string> {
  const output = args.text("output") ?? `${lab.name}.labwright.tar.gz`;
  await mustBeNew(output);
  await checkOutput(output);
  const { file, selector } = await context.projectFile();
  const { lab: path, files } = packFile(file);
  if (args.list("with").includes("captures")) {
    const used = [...files.values()].reduce((sum, { length }) => sum + length, 0);
    const captures = await packCaptures(await context.client(), selector.lab ?? `/${lab.name}`, used);
    for (const [name, data] of captures.files) files.set(name, data);
    for (const large of captures.leftOut) context.terminal.complain(`left out, too large for an archive: ${large}`);
    context.terminal.note(`${captures.files.size} captures`);
  }
  await writeArchive(output, archiveFiles(lab.name, path, files));
  return output;
}
