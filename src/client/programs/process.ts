import type { Duplex } from "node:stream";
import { frame, frameHead, frameTypes } from "../../contract/process-frames.ts";
import { LabwrightError } from "../error.ts";
import { OutputQueue } from "./output-queue.ts";

/** Input of fewer bytes is copied to be sent in one piece with its head. */
const copyBytes = 32 << 10;

/** Output of a program. With a terminal all output is stdout. */
export interface RemoteOutput {
  readonly stream: "stdout" | "stderr";
  readonly data: Buffer;
}

/** The end of a program. */
export interface RemoteEnd {
  readonly stream: "end";
  /** Absent if a signal ended the program. */
  readonly exit_code?: number;
  /** Name of the signal that ended the program, such as SIGKILL. */
  readonly signal?: string;
  /** timeout: killed after its time; node_stopped: ended with its node. */
  readonly reason?: "timeout" | "node_stopped";
}

/**
 * An interactive program in a node. Its items are output and, at last, its end; they are read once. A program whose output is not read waits. Leaving the
 * loop, or disposing of it, ends the program. The loop throws LabwrightError if the connection or the host fails.
 */
export interface RemoteProcess extends AsyncIterable<RemoteOutput | RemoteEnd>, Disposable {
  /** Key of its node. */
  readonly node: string;
  /** Gives the memory of an item's data back, which then saves most of the cost of much output. The data must not be used any more. */
  reuse(data: Buffer): void;
  /** Writes to standard input. Resolves when more can be written. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends standard input. */
  endInput(): void;
  /** Sets the size of its terminal. */
  resize(columns: number, rows: number): void;
  /** Sends a signal such as SIGINT to its process group. */
  signal(name: string): void;
}

/** Returns the program at the other end of a stream of streamProcess. */
export function remoteProcess(node: string, connection: Duplex): RemoteProcess {
  // A connection that breaks ends the items with an error; input that follows is dropped.
  connection.on("error", () => {});
  const output = new OutputQueue(connection);
  const items = itemsOf(output, connection);
  const control = (value: object) => {
    if (!connection.destroyed) connection.write(frame(frameTypes.control, Buffer.from(JSON.stringify(value))));
  };
  return {
    node,
    [Symbol.asyncIterator]: () => items,
    reuse: (data) => output.reuse(data),
    write: async (bytes) => {
      if (bytes.length === 0 || connection.destroyed) return;
      // Much is written apart from its head: together they would be copied.
      const isSmall = bytes.length < copyBytes;
      if (isSmall) connection.cork();
      connection.write(frameHead(frameTypes.data, bytes.length));
      const goOn = connection.write(bytes);
      if (isSmall) connection.uncork();
      if (!goOn) await drained(connection);
    },
    endInput: () => control({ input_end: true }),
    resize: (columns, rows) => control({ resize: [columns, rows] }),
    signal: (name) => control({ signal: name }),
    [Symbol.dispose]: () => void connection.destroy(),
  };
}

async function* itemsOf(output: OutputQueue, connection: Duplex): AsyncGenerator<RemoteOutput | RemoteEnd, void, undefined> {
  try {
    for (;;) {
      const item = await output.next();
      if (item === undefined) break;
      yield item;
      if (item.stream === "end") return;
    }
  } catch (error) {
    if (error instanceof LabwrightError) throw error;
    throw new LabwrightError("the connection to the program broke", { status: 0, code: "host_unreachable", cause: error });
  } finally {
    connection.destroy();
  }
  throw new LabwrightError("the connection ended before the program: the lab or the session was ended, or the service stopped", {
    status: 0,
    code: "host_unreachable",
  });
}

async function drained(connection: Duplex): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = () => {
      connection.off("drain", done).off("close", done);
      resolve();
    };
    connection.on("drain", done).on("close", done);
    if (connection.destroyed) done();
  });
}
