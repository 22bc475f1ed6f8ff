import { type Command, topoFlag } from "../command/command.ts";
import { UsageError } from "../command/usage-error.ts";
import { noteLabFlag } from "../parts/labs-of-file.ts";
import { mustBeNew, writeProject } from "../project-files/write-project.ts";
import { showInspection } from "../show/show-inspection.ts";

export const load: Command = {
  name: "load",
  summary: "Show any lab of the host, without changing it",
  operands: "LAB",
  maxOperands: 1,
  details: "With -t the lab is also written as a new lab file.",
  flags: [{ ...topoFlag, summary: "Write the lab to this file, which must not exist yet" }],
  example: "labwright load /teacher/bgp",
  run: async (context, args) => {
    const [lab] = args.operands;
    if (lab === undefined) throw new UsageError("load needs the path of a lab", "labwright labs lists them");
    const file = args.text("topo");
    if (file !== undefined) await mustBeNew(file);
    const selector = { lab, manifest: `version: 1\nmode: load\nlab: ${JSON.stringify(lab)}\n` };
    const client = await context.client();
    const data = await client.inspectProject({ ...selector, refresh: true });
    const intent = file === undefined ? undefined : await client.reconcileProject({ ...selector, direction: "from_host" });
    const written = file === undefined || intent === undefined ? [] : await writeProject(file, intent);
    if (context.json) context.terminal.print(JSON.stringify({ ...data, written }, null, 2));
    else context.terminal.print([showInspection(data), ...(written.length === 0 ? [] : [`wrote ${written.join(", ")}`])].join("\n"));
    if (file !== undefined && intent !== undefined) noteLabFlag(context, file, intent);
    return 0;
  },
};
