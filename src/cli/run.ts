import { isSelector } from "../intent/fields/node-selector.ts";
import { type Arguments, parseArguments } from "./command/arguments.ts";
import { type Command, nodeFlag, nodeOperands } from "./command/command.ts";
import { Context } from "./command/context.ts";
import { commandHelp, overview } from "./command/help.ts";
import { isExtcapCall } from "./commands/extcap.ts";
import { commands, findCommand } from "./commands.ts";
import { completeCall, completeNames } from "./complete-names.ts";
import { showError } from "./failure.ts";
import { withLabFlagHint } from "./parts/labs-of-file.ts";
import { commandSpeller, programName } from "./program-name.ts";
import { chosenNodes } from "./selectors/chosen-nodes.ts";
import { openTerminal, type Streams } from "./show/terminal.ts";
import { visible, visibleCell } from "./show/visible.ts";

const interrupted = 130;

/** Runs the program with the words after its name and returns its exit code. Never throws. */
export async function run(words: readonly string[], streams: Streams = process): Promise<number> {
  const [name, ...rest] = asCommand(words);
  if (name === completeCall) {
    const [kind = "", ...line] = rest;
    // The shell shows the names and types them into its line.
    const typable = (await completeNames(kind, line)).filter((found) => visibleCell(visible(found)) === found);
    streams.stdout.write(typable.map((found) => `${found}\n`).join(""));
    return 0;
  }
  const spell = commandSpeller(
    commands.flatMap(({ name, aliases = [] }) => [name, ...aliases]),
    programName(),
  );
  const plain = openTerminal(streams, { color: true, quiet: false, spell });
  if (name === undefined) {
    plain.stderr.write(`${overview(commands)}\n`);
    return 1;
  }
  let context: Context | undefined;
  try {
    const command = findCommand(wellKnown[name] ?? name);
    const args = parseArguments(command, rest);
    if (args.has("help")) {
      plain.print(commandHelp(command));
      return 0;
    }
    context = new Context(openTerminal(streams, { color: !args.has("no-color"), quiet: args.has("quiet"), spell }), args, command);
    const code = await command.run(context, await withChosenNodes(context, command, args));
    await context.finish();
    return code;
  } catch (error) {
    if (error instanceof Error && error.name === "AbortError") return interrupted;
    showError(context?.terminal ?? plain, await withLabFlagHint(context, error), context?.file);
    return 1;
  } finally {
    context?.[Symbol.dispose]();
  }
}

/** Adds the nodes that are named as operands to --node, and replaces selectors by the nodes that they choose. Every command with this flag accepts them. */
async function withChosenNodes(context: Context, { flags, operands }: Command, args: Arguments): Promise<Arguments> {
  if (!flags.includes(nodeFlag)) return args;
  const named = operands === nodeOperands.operands ? args.operands.flatMap((name) => name.split(",")).filter((name) => name !== "") : [];
  const nodes = [...args.list("node"), ...named];
  if (nodes.some(isSelector)) return args.with("node", (await chosenNodes(context, nodes)).join(","));
  return named.length > 0 ? args.with("node", nodes.join(",")) : args;
}

/** Adds the command `extcap` to calls by Wireshark, which starts each program in its extcap folder with flags only, or with `capture`. */
function asCommand(words: readonly string[]): readonly string[] {
  const [first = "", ...rest] = words;
  if (!isExtcapCall(words) || first === "extcap") return words;
  if (first === "capture") return ["extcap", ...rest];
  return first.startsWith("--") ? ["extcap", ...words] : words;
}

const wellKnown: Readonly<Record<string, string>> = { "--help": "help", "-h": "help", "--version": "version", "-v": "version" };
