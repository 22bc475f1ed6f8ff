import type { Duplex } from "node:stream";
import type { DataOf } from "../contract/operations.ts";
import { jsonLines } from "./lines.ts";

type Event = DataOf<"execNodes"> extends AsyncIterable<infer Item> ? Item : never;

/** An interactive program in a node. Its items are output and, at last, its end or failure. Disposing of it ends the program. */
export interface RemoteProcess extends AsyncIterable<Event>, Disposable {
  /** Writes to standard input. Resolves when more can be written. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends standard input. */
  endInput(): void;
  /** Sets the size of its terminal. */
  resize(columns: number, rows: number): void;
  /** Sends a signal such as SIGINT to its process group. */
  signal(name: string): void;
}

export function remoteProcess(connection: Duplex): RemoteProcess {
  const lines = jsonLines<Event>(connection);
  // A connection that breaks ends the items with an error; writing afterwards is no second one.
  connection.on("error", () => {});
  const send = (line: object) => connection.destroyed || connection.write(`${JSON.stringify(line)}\n`);
  return {
    [Symbol.asyncIterator]: () => lines,
    write: async (bytes) => {
      if (send({ input: Buffer.from(bytes).toString("base64") })) return;
      await new Promise<void>((resolve) => {
        const done = () => {
          connection.off("drain", done).off("close", done);
          resolve();
        };
        connection.on("drain", done).on("close", done);
      });
    },
    endInput: () => void send({ input_end: true }),
    resize: (columns, rows) => void send({ resize: [columns, rows] }),
    signal: (name) => void send({ signal: name }),
    [Symbol.dispose]: () => void connection.destroy(),
  };
}
