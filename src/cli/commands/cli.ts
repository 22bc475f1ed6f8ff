import { type Command, labFlag, nodeFlag, timeoutFlag, topoFlag } from "../command/command.ts";
import { UsageError } from "../command/usage-error.ts";
import { typeCommand } from "../parts/type-command.ts";
import { chosenNodes } from "../selectors/chosen-nodes.ts";

export const cli: Command = {
  name: "cli",
  summary: "Type a command on the command line of one, several or all running nodes",
  operands: "[NODE...] -- COMMAND...",
  completes: "node",
  details:
    "cli types on the node's console, such as vtysh of an FRR router. It detects the prompt, turns paging off and removes the echo. It works on every node\n" +
    "with a text console, also on virtual machines. It types on several nodes at the same time; a failure on one node does not stop the others. Without a\n" +
    "node it skips nodes that do not run or have no text console, and names them on stderr. Exit code 1: the command failed on a node, or no node could run\n" +
    "it. A command line has no exit codes of its own: labwright exec runs programs and returns theirs.",
  flags: [
    topoFlag,
    labFlag,
    nodeFlag,
    { long: "command", short: "c", value: "COMMAND", summary: "The command as one argument" },
    timeoutFlag,
  ],
  example: "labwright cli r1 r2 -- show ip route",
  run: async (context, args) => {
    const words = args.rest ?? [];
    const typed = args.text("command");
    const command = typed ?? words.join(" ");
    if (typed !== undefined && words.length > 0) {
      throw new UsageError(`cli has two commands: --command "${typed}" and "${words.join(" ")}"`, "give only one of them");
    }
    if (command === "") throw new UsageError("cli needs a command after --", "labwright cli r1 -- show ip route");
    const named = args.operands.slice(0, args.operands.length - words.length).flatMap((name) => name.split(","));
    const nodes = await chosenNodes(context, named);
    return typeCommand(context, [...nodes, ...args.list("node")], command, args.milliseconds("timeout"));
  },
};
