import { type Command, labFlag, topoFlag } from "../command/command.ts";
import { UsageError } from "../command/usage-error.ts";
import { chosenNode } from "../selectors/chosen-nodes.ts";

export const logs: Command = {
  name: "logs",
  summary: "Show a node's console output since its last start, also of a node that has ended",
  operands: "NODE",
  completes: "node",
  maxOperands: 1,
  details: "Shows the last 64 KiB without escape sequences. The last lines usually explain why a node has ended.",
  flags: [topoFlag, labFlag],
  example: "labwright logs r1",
  run: async (context, args) => {
    const [word] = args.operands;
    if (word === undefined) throw new UsageError("logs needs a node", "labwright consoles lists them");
    const node = await chosenNode(context, word);
    const { selector } = await context.project();
    const client = await context.client();
    const data = await client.readConsoleLog({ ...selector, node });
    context.terminal.print(context.json ? JSON.stringify(data, null, 2) : data.output);
    return 0;
  },
};
