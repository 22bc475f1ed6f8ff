import { type GraphFormat, graphFormats } from "../../exporters/format-names.ts";
import { type Command, fileOperand, topoFlag } from "../command/command.ts";
import { UsageError } from "../command/usage-error.ts";
import { checkOutput } from "../project-files/check-output.ts";
import { offlineLab } from "../project-files/offline-lab.ts";
import { replaceFile } from "../project-files/replace-file.ts";
import { mustBeNew } from "../project-files/write-project.ts";

const suffixes: Readonly<Record<string, GraphFormat>> = {
  svg: "svg",
  mmd: "mermaid",
  mermaid: "mermaid",
  d2: "d2",
  drawio: "drawio",
  dot: "dot",
  gv: "dot",
};

export const graph: Command = {
  name: "graph",
  summary: "Draw a lab as SVG, Mermaid, D2, draw.io or Graphviz",
  ...fileOperand,
  details:
    "Prints the drawing, or writes it to a new file with --output. SVG, draw.io and Graphviz have the places of the pages: the declared positions, and computed\n" +
    "ones for the other nodes. Reads the file alone: no service is needed.",
  flags: [
    topoFlag,
    { long: "format", short: "o", value: "FORMAT", choices: graphFormats, summary: "Default: the suffix of --output, or mermaid" },
    { long: "output", value: "FILE", completes: "file", summary: "Write the drawing to this file, which must not exist yet" },
  ],
  readsText: true,
  offline: true,
  example: "labwright graph -t campus.lw.yml --output campus.svg",
  run: async (context, args) => {
    const output = args.text("output");
    const format = (args.text("format") as GraphFormat | undefined) ?? formatOf(output);
    if (output !== undefined) {
      await mustBeNew(output);
      await checkOutput(output);
    }
    const { graphText } = await import("../../exporters/formats.ts");
    const text = graphText(await offlineLab(context), format);
    if (output === undefined) context.terminal.stdout.write(text);
    else {
      await replaceFile(output, undefined, text);
      context.terminal.print(`wrote ${output}`);
    }
    return 0;
  },
};

function formatOf(output: string | undefined): GraphFormat {
  if (output === undefined) return "mermaid";
  const suffix = output.slice(output.lastIndexOf(".") + 1).toLowerCase();
  const format = Object.hasOwn(suffixes, suffix) ? suffixes[suffix] : undefined;
  if (format === undefined) throw new UsageError(`${output}: the suffix names no format`, `add --format ${graphFormats.join("|")}`);
  return format;
}
