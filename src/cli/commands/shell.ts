import { constants } from "node:os";
import { LabwrightError } from "../../client/index.ts";
import { type Command, labFlag, topoFlag } from "../command/command.ts";
import { UsageError } from "../command/usage-error.ts";
import { chosenNode } from "../selectors/chosen-nodes.ts";
import { sizeOf, talk } from "../streams/talk.ts";

export const shell: Command = {
  name: "shell",
  summary: "Open a shell in a node, in a terminal of its own; returns its exit code",
  operands: "NODE [-- PROGRAM [ARGUMENT...]]",
  completes: "node",
  details:
    "The shell runs beside the node's console and beside other shells, also on routers and in containers. With PROGRAM this runs instead of the shell.\n" +
    "Without a terminal, standard input is sent to the program, and both outputs stay apart. Ctrl-], or ~. at the beginning of a line, ends the connection\n" +
    "and the program. In a virtual machine with a guest agent, shell works only without a terminal, with PROGRAM, as labwright exec does. Other virtual\n" +
    "machines and nodes of other hosts have only a console: labwright console NODE.",
  flags: [topoFlag, labFlag],
  example: "labwright shell r1",
  run: async (context, args) => {
    const argv = args.rest ?? [];
    const [word, surplus] = args.operands.slice(0, args.operands.length - argv.length);
    if (word === undefined) throw new UsageError("shell needs a node", "labwright status lists them");
    if (surplus !== undefined)
      throw new UsageError(`shell: "${surplus}" is not expected here`, "a program is given after --: labwright shell r1 -- top");
    const node = await chosenNode(context, word);
    const { selector } = await context.project();
    const client = await context.client();
    const { stdout } = context.terminal;
    const interactive = context.terminal.interactive && stdout.isTTY === true;
    const [columns, rows] = sizeOf(stdout);
    const env = interactive ? { TERM: process.env.TERM ?? "xterm" } : {};
    const input = { ...selector, node, env, ...(argv.length > 0 && { argv }), ...(interactive && { terminal: { columns, rows } }) };
    const program = await client.openProcess(input).catch((error: unknown) => {
      if (!(error instanceof LabwrightError) || error.code !== "unsupported") throw error;
      throw new UsageError(error.message, `its console is there: labwright console ${node}`);
    });
    const end = await talk(context, program, interactive);
    if (end === undefined) return 1;
    if (end.reason === "node_stopped") context.terminal.complain(`${node} was stopped`);
    return end.exit_code ?? 128 + (constants.signals[end.signal as NodeJS.Signals] ?? 0);
  },
};
