import { exportLab, type LabFormat, labFormats } from "../../exporters/formats.ts";
import { type Command, topoFlag } from "../command/command.ts";
import { UsageError } from "../command/usage-error.ts";
import { offlineLab } from "../project-files/offline-lab.ts";
import { mustBeEmpty, writeFolder } from "../project-files/write-folder.ts";

const formatFlag = {
  long: "format",
  short: "o",
  value: "FORMAT",
  choices: labFormats,
  summary: "The tool that reads it: containerlab, unl (EVE-NG, PNETLab), gns3, or cml (Cisco Modeling Labs)",
};

export const exportCommand: Command = {
  name: "export",
  summary: "Write a lab's file for another tool: containerlab, EVE-NG, PNETLab, GNS3 or CML",
  details:
    "Writes the lab and its configurations into a new folder, and lists what the other tool has no place for. Reads the file alone: no service is needed.\n" +
    "With --output - the lab's own file is printed, without its configurations. labwright graph draws the lab.",
  flags: [
    topoFlag,
    formatFlag,
    { long: "output", value: "FOLDER", completes: "folder", summary: "The new folder; default: the lab's name and the format" },
  ],
  readsText: true,
  offline: true,
  example: "labwright export --format containerlab -t campus.lw.yml",
  run: async (context, args) => {
    const format = args.text("format") as LabFormat | undefined;
    if (format === undefined) throw new UsageError("export needs --format", `one of ${labFormats.join(", ")}`);
    const lab = await offlineLab(context);
    const { main, files, notes } = exportLab(lab, format);
    const { terminal } = context;
    const folder = args.text("output") ?? `${lab.name}-${format}`;
    if (folder === "-") terminal.stdout.write(files[main] ?? "");
    else {
      await mustBeEmpty(folder);
      await writeFolder(folder, files);
      terminal.print(
        Object.keys(files)
          .sort()
          .map((path) => `wrote ${folder}/${path}`)
          .join("\n"),
      );
    }
    for (const note of notes) terminal.note(note);
    return 0;
  },
};
