import { type Command, topoFlag } from "../command/command.ts";
import { UsageError } from "../command/usage-error.ts";
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
    const written =
      file === undefined ? [] : await writeProject(file, await client.reconcileProject({ ...selector, direction: "from_host" }));
    if (context.json) context.terminal.print(JSON.stringify({ ...data, written }, null, 2));
    else context.terminal.print([showInspection(data), ...(written.length === 0 ? [] : [`wrote ${written.join(", ")}`])].join("\n"));
    return 0;
  },
};
