import { writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { shellWord } from "../../base/shell-word.ts";
import { capturesFolder } from "../../files/lab-archive/manifest.ts";
import type { UnpackedLab } from "../../files/lab-archive/unpack-lab.ts";
import { makeDirectory } from "../../files/make-directory.ts";
import type { Context } from "../command/context.ts";
import { fileFailure } from "../project-files/file-failure.ts";
import { mustBeNew, writeProject } from "../project-files/write-project.ts";

/** Prints the lab of an archive, or writes it with its files, and its captures beside it. An existing capture is not overwritten. */
export async function importArchive(
  context: Context,
  { lab, output, source }: { readonly lab: UnpackedLab; readonly output: string | undefined; readonly source: string },
): Promise<void> {
  const folder = output === undefined ? undefined : join(dirname(resolve(output)), capturesFolder);
  const names = folder === undefined ? [] : [...lab.captures.keys()].map((name) => join(folder, name));
  for (const name of names) await mustBeNew(name);
  const written = output === undefined ? [] : [...(await writeProject(output, lab, names))];
  if (folder !== undefined && lab.captures.size > 0) {
    try {
      await makeDirectory(folder, 0o777);
      for (const [name, data] of lab.captures) {
        await writeFile(join(folder, name), data, { flag: "wx" });
        written.push(`${capturesFolder}/${name}`);
      }
    } catch (error) {
      throw fileFailure(error, folder);
    }
  }
  const { terminal } = context;
  if (context.json) {
    const { name, yaml, files, checked } = lab;
    const disks = lab.disks.map(({ node }) => node);
    terminal.print(
      JSON.stringify({ format: "labwright", name, yaml, files, captures: [...lab.captures.keys()], disks, checked, written }, null, 2),
    );
    return;
  }
  if (written.length === 0) terminal.print(lab.yaml.trimEnd());
  terminal.note(`compared SHA-256 digests, all equal: ${lab.checked}`);
  if (written.length > 0) terminal.note(`wrote ${written.join(", ")}`);
  if (lab.disks.length > 0)
    terminal.note(
      `the archive has the disks of ${lab.disks.map(({ node }) => node).join(", ")}: before the first deploy, labwright disks --import ${shellWord(source)}`,
    );
}
