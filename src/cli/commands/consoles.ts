import { inNaturalOrder } from "../../base/natural-order.ts";
import { nodeKey, otherName } from "../../base/node-key.ts";
import { type Command, labFlag, nodeFlag, nodeOperands, topoFlag } from "../command/command.ts";
import { namedNodes } from "../parts/named-nodes.ts";
import { table } from "../show/table.ts";

export const consoles: Command = {
  name: "consoles",
  summary: "List the nodes with a console, and whether it can be opened now",
  ...nodeOperands,
  flags: [topoFlag, labFlag, nodeFlag],
  example: "labwright consoles",
  run: async (context, args) => {
    const { selector } = await context.project();
    const client = await context.client();
    context.result(await client.listProjectConsoles({ ...selector, ...namedNodes(args) }), ({ consoles = [] }) => {
      const isRenamed = consoles.some((one) => otherName(one) !== "");
      const screens = consoles.some(({ vnc }) => vnc !== undefined);
      return table(
        ["NODE", ...(isRenamed ? ["NAME"] : []), "CONSOLE", "STATUS", "AVAILABLE", ...(screens ? ["SCREEN"] : [])],
        inNaturalOrder(consoles, nodeKey).map((one) => [
          nodeKey(one),
          ...(isRenamed ? [otherName(one)] : []),
          one.console_type,
          one.status,
          one.available ? "yes" : "no",
          ...(screens ? [one.vnc ?? ""] : []),
        ]),
      );
    });
    return 0;
  },
};
