import type { Duplex } from "node:stream";
import { type LabwrightClient, LabwrightError } from "../../client/index.ts";
import { type Command, labFlag, topoFlag } from "../command/command.ts";
import type { Context } from "../command/context.ts";
import { UsageError } from "../command/usage-error.ts";
import { chosenNode } from "../selectors/chosen-nodes.ts";
import { Escape } from "../streams/escape.ts";
import { Recording } from "../streams/recording.ts";

/** The node's answer is complete after this time without output, ms. */
const quietMs = 1000;

export const consoleCommand: Command = {
  name: "console",
  summary: "Open a node's console in this terminal; Ctrl-] or ~. closes it",
  operands: "NODE",
  completes: "node",
  maxOperands: 1,
  details:
    "Several users can open the same console at the same time. Ctrl-] closes it at once; ~. at the beginning of a line does the same, as in ssh.\n" +
    "Without a terminal, standard input is sent to the node and the node's output is printed. The command ends when the input has ended and the node has\n" +
    "written nothing for a second, or when the console closes.",
  flags: [
    topoFlag,
    labFlag,
    { long: "read-only", summary: "Only look: send nothing to the node" },
    { long: "record", value: "FILE", completes: "file", summary: "Also record the console's output in a new file, for asciinema play" },
  ],
  example: "labwright console r1",
  run: async (context, args) => {
    const [word] = args.operands;
    if (word === undefined) throw new UsageError("console needs a node", "labwright consoles lists them");
    const node = await chosenNode(context, word);
    const { selector } = await context.project();
    const client = await context.client();
    const connection = await client.openConsole({ ...selector, node });
    if (context.terminal.interactive) context.terminal.note(`console of ${node}; Ctrl-] or ~. closes it`);
    const file = args.text("record");
    const recording = file === undefined ? undefined : await startRecording(context, connection, file);
    let isClosed: boolean;
    try {
      isClosed = await talk(context, connection, args.has("read-only"));
    } finally {
      await recording?.end();
    }
    if (isClosed) await requireService(client);
    if (context.terminal.interactive) context.terminal.note(`\nclosed the console of ${node}`);
    return 0;
  },
};

/** Throws if the service does not answer: its end closes a console as the end of the node does. */
async function requireService(client: LabwrightClient): Promise<void> {
  try {
    await client.getCapabilities();
  } catch (error) {
    if (!(error instanceof LabwrightError) || error.code !== "host_unreachable" || error.status !== 0) return;
    throw new UsageError(
      "the console was closed: the service has stopped or cannot be reached",
      "the node keeps running: open its console again when the service answers",
    );
  }
}

async function startRecording({ terminal }: Context, connection: Duplex, file: string): Promise<Recording> {
  const { columns = 80, rows = 24 } = terminal.stdout;
  try {
    const recording = await Recording.start(file, [columns, rows]);
    connection.on("data", (chunk: Buffer) => recording.add(chunk));
    return recording;
  } catch (error) {
    connection.destroy();
    const exists = (error as NodeJS.ErrnoException).code === "EEXIST";
    throw new UsageError(
      `console: ${exists ? `${file} exists already` : (error as Error).message}`,
      "--record takes the name of a new file",
    );
  }
}

/** Resolves when the connection has been silent for a second. */
async function quiet(connection: Duplex): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, quietMs);
    connection.on("data", () => timer.refresh()).once("close", () => clearTimeout(timer));
  });
}

/**
 * Copies bytes in both directions until the user closes the console, the node closes it, or a signal arrives. Always restores the terminal. Returns whether
 * the other end closed the connection.
 */
async function talk(context: Context, connection: Duplex, isReadOnly: boolean): Promise<boolean> {
  const { stdin, stdout } = context.terminal;
  const setRawMode = stdin.isTTY === true ? stdin.setRawMode?.bind(stdin) : undefined;
  const typed = new Escape();
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  let end = () => {};
  try {
    return await new Promise<boolean>((resolve, reject) => {
      end = () => resolve(false);
      const closed = () => resolve(true);
      for (const signal of signals) process.once(signal, end);
      connection.on("data", (chunk: Buffer) => stdout.write(chunk));
      connection
        .once("close", closed)
        .once("end", closed)
        .once("error", (error) => reject(new UsageError(`the connection to the console was lost: ${error.message}`)));
      setRawMode?.(true);
      stdin.on("data", (chunk: Buffer) => {
        const { send, leave } = typed.take(chunk);
        if (send.length > 0 && !isReadOnly) connection.write(send);
        if (leave) resolve(false);
      });
      // The input of a script has ended: the node may still be writing its answer.
      if (setRawMode === undefined) stdin.once("end", () => void quiet(connection).then(end));
    });
  } finally {
    setRawMode?.(false);
    for (const signal of signals) process.off(signal, end);
    stdin.removeAllListeners("data").pause();
    connection.removeAllListeners("data").destroy();
  }
}
