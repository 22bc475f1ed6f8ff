import { printLab } from "../../intent/write/print.ts";
import { type Command, fileOperand, topoFlag } from "../command/command.ts";
import { offlineLab } from "../project-files/offline-lab.ts";

export const render: Command = {
  name: "render",
  summary: "Print a lab with its variables, ranges, addresses, routing and templates expanded",
  ...fileOperand,
  details:
    "Prints the YAML of the lab as plans, tests and exports see it: each node and link is written out, with the values that it inherits and\n" +
    "the commands and configurations that are made for it. --configs prints the startup configuration of each node instead. Reads the file alone: no service is needed, and nothing is changed.",
  flags: [topoFlag, { long: "configs", summary: "Print the startup configurations" }],
  readsText: true,
  offline: true,
  example: "labwright render -t fabric.lw.yml",
  run: async (context, args) => {
    const lab = await offlineLab(context);
    const { terminal } = context;
    if (!args.has("configs")) {
      terminal.stdout.write(printLab(lab).yaml);
      return 0;
    }
    const configured = lab.nodes.filter(({ startupConfig }) => startupConfig !== undefined);
    for (const [index, { key, startupConfig = "" }] of configured.entries()) {
      // The separator of head and tail is not a comment of any language of configurations.
      terminal.stdout.write(`${index === 0 ? "" : "\n"}==> ${key} <==\n${startupConfig}${startupConfig.endsWith("\n") ? "" : "\n"}`);
    }
    if (configured.length === 0) terminal.note("no node has a startup configuration");
    return 0;
  },
};
