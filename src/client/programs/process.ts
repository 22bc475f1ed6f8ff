import type { Duplex } from "node:stream";
import { FrameParts, frame, frameHead, frameTypes } from "../../contract/process-frames.ts";
import { LabwrightError } from "../error.ts";

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
  const items = itemsOf(connection);
  const control = (value: object) => {
    if (!connection.destroyed) connection.write(frame(frameTypes.control, Buffer.from(JSON.stringify(value))));
  };
  return {
    node,
    [Symbol.asyncIterator]: () => items,
    write: async (bytes) => {
      if (bytes.length === 0 || connection.destroyed) return;
      connection.cork();
      connection.write(frameHead(frameTypes.data, bytes.length));
      const goOn = connection.write(bytes);
      connection.uncork();
      if (!goOn) await drained(connection);
    },
    endInput: () => control({ input_end: true }),
    resize: (columns, rows) => control({ resize: [columns, rows] }),
    signal: (name) => control({ signal: name }),
    [Symbol.dispose]: () => void connection.destroy(),
  };
}

async function* itemsOf(connection: Duplex): AsyncGenerator<RemoteOutput | RemoteEnd, void, undefined> {
  const frames = new FrameParts();
  try {
    for await (const chunk of connection as AsyncIterable<Buffer>) {
      for (const { type, data } of frames.take(chunk)) {
        const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
        if (type === frameTypes.data || type === frameTypes.error)
          yield { stream: type === frameTypes.data ? "stdout" : "stderr", data: bytes };
        if (type !== frameTypes.control) continue;
        const end = endIn(JSON.parse(bytes.toString("utf8")));
        if (end === undefined) continue;
        yield end;
        return;
      }
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

/** Returns the end in a control frame; undefined for controls of a newer service. */
function endIn(control: unknown): RemoteEnd | undefined {
  const { type, exit_code, signal, reason, code, error } = control as Partial<Omit<RemoteEnd, "stream">> &
    Record<string, string | undefined>;
  if (type === "failed") throw new LabwrightError(error ?? "failed", { status: 502, ...(code !== undefined && { code: code as never }) });
  if (type !== "end") return undefined;
  return {
    stream: "end",
    ...(exit_code !== undefined && { exit_code }),
    ...(signal !== undefined && { signal }),
    ...(reason !== undefined && { reason }),
  };
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
