import { type Command, labFlag, nodeFlag, nodeOperands, topoFlag } from "../command/command.ts";
import { namedNodes } from "../parts/named-nodes.ts";
import { showInspection } from "../show/show-inspection.ts";

export const inspect: Command = {
  name: "inspect",
  summary: "Show the lab as it is on the host: nodes with their interfaces, networks and links",
  ...nodeOperands,
  flags: [topoFlag, labFlag, nodeFlag, { long: "refresh", summary: "Read the lab from the host, not from the service's cache" }],
  example: "labwright inspect --lab /campus --format json",
  run: async (context, args) => {
    const { selector } = await context.project();
    const client = await context.client();
    const data = await client.inspectProject({ ...selector, ...namedNodes(args), ...(args.has("refresh") ? { refresh: true } : {}) });
    context.result(data, showInspection);
    return 0;
  },
};
