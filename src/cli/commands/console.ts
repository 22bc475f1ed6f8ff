import type { Duplex } from "node:stream";
import { type Command, labFlag, topoFlag } from "../command/command.ts";
import type { Context } from "../command/context.ts";
import { UsageError } from "../command/usage-error.ts";
import { Escape } from "../streams/escape.ts";
import { Recording } from "../streams/recording.ts";

/** A node that answers does so within this time, milliseconds. */
const quietMs = 1000;

export const consoleCommand: Command = {
  name: "console",
  summary: "Open a node's console in this terminal; Ctrl-] or ~. leaves it",
  operands: "NODE",
  completes: "node",
  maxOperands: 1,
  details:
    "Others can look at the same console at the same time. Ctrl-] leaves at once; ~. at the beginning of a line does the same, as in ssh.\n" +
    "Without a terminal, standard input is sent to the node and what it says is printed, until the input has ended and the node has said nothing\n" +
    "for a second, or until it closes.",
  flags: [
    topoFlag,
    labFlag,
    { long: "record", value: "FILE", completes: "file", summary: "Also write what the console says to a new file, for asciinema play" },
  ],
  example: "labwright console r1",
  run: async (context, args) => {
    const [node] = args.operands;
    if (node === undefined) throw new UsageError("console: which node?", "labwright consoles lists them");
    const { selector } = await context.project();
    const client = await context.client();
    const connection = await client.openConsole({ ...selector, node });
    if (context.terminal.interactive) context.terminal.note(`console of ${node}; Ctrl-] or ~. leaves it`);
    const file = args.text("record");
    const recording = file === undefined ? undefined : await startRecording(context, connection, file);
    try {
      await talk(context, connection);
    } finally {
      await recording?.end();
    }
    if (context.terminal.interactive) context.terminal.note(`\nleft the console of ${node}`);
    return 0;
  },
};

async function startRecording({ terminal }: Context, connection: Duplex, file: string): Promise<Recording> {
  const { columns = 80, rows = 24 } = terminal.stdout as { readonly columns?: number; readonly rows?: number };
  try {
    const recording = await Recording.start(file, [columns, rows]);
    connection.on("data", (chunk: Buffer) => recording.add(chunk));
    return recording;
  } catch (error) {
    connection.destroy();
    const exists = (error as NodeJS.ErrnoException).code === "EEXIST";
    throw new UsageError(
      `console: ${exists ? `${file} is there already` : (error as Error).message}`,
      "--record takes the name of a new file",
    );
  }
}

/** Comes back when nothing has come for a second. */
async function quiet(connection: Duplex): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, quietMs);
    connection.on("data", () => timer.refresh()).once("close", () => clearTimeout(timer));
  });
}

/** Carries bytes both ways until the person leaves, the node's side closes, or a signal ends it. The terminal is put back in any case. */
async function talk(context: Context, connection: Duplex): Promise<void> {
  const { stdin, stdout } = context.terminal;
  const raw = stdin.isTTY === true && "setRawMode" in stdin;
  const typed = new Escape();
  await new Promise<void>((resolve, reject) => {
    const end = () => resolve();
    const onInput = (chunk: Buffer) => {
      const { send, leave } = typed.take(chunk);
      if (send.length > 0) connection.write(send);
      if (leave) resolve();
    };
    process.once("SIGINT", end).once("SIGTERM", end).once("SIGHUP", end);
    connection.on("data", (chunk: Buffer) => stdout.write(chunk));
    connection
      .once("close", end)
      .once("end", end)
      .once("error", (error) => reject(new UsageError(`the connection to the console broke: ${error.message}`)));
    if (raw) stdin.setRawMode(true);
    stdin.on("data", onInput);
    // The input of a script has ended: what the node still answers to it is awaited.
    if (!raw) stdin.once("end", () => void quiet(connection).then(end));
  }).finally(() => {
    if (raw) stdin.setRawMode(false);
    stdin.removeAllListeners("data").pause();
    connection.removeAllListeners("data").destroy();
  });
}
