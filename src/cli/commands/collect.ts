import { join } from "node:path";
import { parallel } from "../../base/parallel.ts";
import type { LabwrightClient } from "../../client/index.ts";
import { type ClassLab, labsOfClass, outcomeOf } from "../classroom/class-labs.ts";
import { showOutcomes } from "../classroom/show-outcomes.ts";
import type { Command } from "../command/command.ts";
import { UsageError } from "../command/usage-error.ts";
import { mustBeEmpty, writeFolder } from "../project-files/write-folder.ts";

/** Number of labs that are collected at the same time. */
const width = 4;

export const collect: Command = {
  name: "collect",
  summary: "Write the configurations of all labs of a class into a folder",
  operands: "CLASS",
  maxOperands: 1,
  details:
    "Running nodes save their configuration first, as with labwright save. The folder gets a folder for each student, with lab.yaml and NODE.cfg of each node whose\n" +
    "template can save, and results.json. Exit code 1: some labs failed; they are listed.",
  flags: [{ long: "output", value: "FOLDER", completes: "folder", summary: "The new folder; default: the name of the class" }],
  example: "labwright collect bgp --output hand-in",
  run: async (context, args) => {
    const [name] = args.operands;
    if (name === undefined) throw new UsageError("collect needs the name of a class: labwright collect CLASS");
    const folder = args.text("output") ?? name.replaceAll("/", "");
    await mustBeEmpty(folder);
    const client = await context.client();
    const labs = await labsOfClass(client, name);
    const outcomes = await parallel(labs, width, (lab) =>
      outcomeOf(lab.student, lab.lab, () => collectLab(client, lab, join(folder, lab.student))),
    );
    await writeFolder(folder, { "results.json": `${JSON.stringify({ labs: outcomes }, null, 2)}\n` });
    return showOutcomes(context, outcomes);
  },
};

async function collectLab(client: LabwrightClient, { lab }: ClassLab, folder: string): Promise<string> {
  const { yaml = "", files = {} } = await client.getPublicProject({ lab, as_written: true });
  const { files: saved = {}, nodes } = await client.saveConfigs({ lab });
  const failed = nodes.filter(({ outcome }) => outcome === "failed").length;
  // Names of nodes cannot contain a slash; a file of the lab may be in a folder.
  await writeFolder(folder, { ...files, "lab.yaml": yaml, ...saved });
  const count = Object.keys(saved).length;
  return `${count} configuration${count === 1 ? "" : "s"}${failed > 0 ? `, ${failed} nodes could not save` : ""}`;
}
