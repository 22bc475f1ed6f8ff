import { type LabFormat, labFormats } from "../../exporters/format-names.ts";
import { archiveParts, exportArchive } from "../archive/export-archive.ts";
import { type Command, topoFlag } from "../command/command.ts";
import { UsageError } from "../command/usage-error.ts";
import { offlineLab } from "../project-files/offline-lab.ts";
import { mustBeEmpty, writeFolder } from "../project-files/write-folder.ts";

const formats = [...labFormats, "archive"];

const formatFlag = {
  long: "format",
  short: "o",
  value: "FORMAT",
  choices: formats,
  summary: "The tool that reads it: containerlab, unl (EVE-NG, PNETLab), gns3, or cml (Cisco Modeling Labs); archive: another Labwright",
};

export const exportCommand: Command = {
  name: "export",
  summary: "Write a lab for another tool: containerlab, EVE-NG, PNETLab, GNS3 or CML; or as one archive",
  details:
    "Writes the lab and its configurations into a new folder, and lists what the other tool has no place for. With --output - the lab's own file is\n" +
    "printed, without its configurations. labwright graph draws the lab.\n" +
    "--format archive writes the lab's file and everything that it names into one tar.gz with their SHA-256 digests, which labwright import-file compares.\n" +
    "Only --with needs a service. --with disks copies the disks of a stopped lab: what its nodes have changed on top of their images.",
  flags: [
    topoFlag,
    formatFlag,
    {
      long: "output",
      value: "FOLDER",
      completes: "folder",
      summary: "The new folder, or the archive; default: the lab's name and the format",
    },
    { long: "with", value: "PART", multiple: true, choices: archiveParts, summary: "Parts on the host for the archive" },
  ],
  readsText: true,
  example: "labwright export --format containerlab -t campus.lw.yml",
  run: async (context, args) => {
    const format = args.text("format") as LabFormat | "archive" | undefined;
    if (format === undefined) throw new UsageError("export needs --format", `one of ${formats.join(", ")}`);
    if (args.has("with") && format !== "archive") throw new UsageError("--with needs --format archive");
    const lab = await offlineLab(context);
    if (format === "archive") {
      context.terminal.print(`wrote ${await exportArchive(context, args, lab)}`);
      return 0;
    }
    const { exportLab } = await import("../../exporters/formats.ts");
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
