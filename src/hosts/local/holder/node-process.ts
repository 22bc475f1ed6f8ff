import { BlockWriter } from "../../../console/stream/block-writer.ts";
import { Failure } from "../../../contract/errors.ts";
import type { NodeProcess, NodeProgram, ProcessEnd, ProcessListening, ProcessOutput, WindowSize } from "../../host-processes.ts";
import type { Pulse } from "./pulse.ts";
import { openRequestOn } from "./request.ts";
import { SocketStream } from "./socket-stream.ts";
import { encodeFrame, type Frame, type FrameReader, frameHead, list, texts } from "./wire.ts";

/** Maximum bytes of one frame of input. */
const inputPiece = 64 << 10;

/** Starts a program in a node through the lab's holder. Throws node_not_found, node_not_running, unsupported, host_error. */
export async function startProcess(
  path: string,
  pulse: Pulse,
  id: number,
  program: NodeProgram,
  signal: AbortSignal,
): Promise<NodeProcess> {
  const { argv, env = {}, cwd = "", timeoutMs = 0, terminal } = program;
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const size = terminal === undefined ? [0, 0] : [terminal.columns, terminal.rows];
  const fields = [id, Math.round(timeoutMs), ...size, cwd, ...list(argv), ...list(variables)];
  const open = await pulse
    .during((cut) =>
      openRequestOn((address) => new SocketStream(address), path, "process", fields, { signal: AbortSignal.any([signal, cut]) }),
    )
    .catch((error: unknown) => {
      throw ofOlderHolder(error) ?? error;
    });
  return new HolderProcess(open.socket, open.reader, pulse, signal);
}

/** Returns the failure of a lab whose holder is from a release without this request. */
function ofOlderHolder(error: unknown): Failure | undefined {
  if (!(error instanceof Failure) || error.data?.["host"] !== "unknown request") return undefined;
  return new Failure("unsupported", "an older release of Labwright started this lab: stop and start its nodes to run programs in them", {
    data: { feature: "nodeExec" },
  });
}

class HolderProcess implements NodeProcess {
  readonly output: AsyncIterable<ProcessOutput | ProcessEnd>;
  readonly #socket: SocketStream;
  readonly #reader: FrameReader;
  readonly #connection: Connection;
  readonly #input: BlockWriter;

  constructor(socket: SocketStream, reader: FrameReader, pulse: Pulse, signal: AbortSignal) {
    this.#socket = socket;
    this.#reader = reader;
    this.#connection = { socket, pulse, signal };
    this.#input = new BlockWriter(socket);
    // Input for a program that has ended fails. The end of the output is handled by the reader.
    socket.on("error", () => {});
    const abort = () => socket.destroy();
    signal.addEventListener("abort", abort, { once: true });
    socket.once("close", () => signal.removeEventListener("abort", abort));
    if (signal.aborted) abort();
    this.output = outputOf(this.#connection, reader);
  }

  listen(each: (item: ProcessOutput | ProcessEnd) => void): ProcessListening {
    const socket = this.#socket;
    return { ended: listenTo(this.#connection, this.#reader, each), pause: () => void socket.pause(), resume: () => void socket.resume() };
  }

  write(bytes: Uint8Array): Promise<void> | undefined {
    for (let at = 0; at < bytes.length; at += inputPiece) {
      const piece = bytes.subarray(at, at + inputPiece);
      this.#input.write(frameHead("I", piece.length), piece);
    }
    return this.#input.room();
  }

  endInput(): void {
    this.#input.write(encodeFrame("I", Buffer.alloc(0)));
  }

  resize({ columns, rows }: WindowSize): void {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt16LE(columns, 0);
    bytes.writeUInt16LE(rows, 2);
    this.#input.write(encodeFrame("W", bytes));
  }

  signal(number: number): void {
    this.#input.write(encodeFrame("S", Buffer.from([number])));
  }

  close(): void {
    this.#socket.destroy();
  }
}

interface Connection {
  readonly socket: SocketStream;
  readonly pulse: Pulse;
  readonly signal: AbortSignal;
}

/** Yields the frames of the connection as output. Destroys the connection at its end. */
async function* outputOf(connection: Connection, reader: FrameReader): AsyncGenerator<ProcessOutput | ProcessEnd> {
  const { socket } = connection;
  using watch = watched(connection);
  for (;;) {
    for (let frame = reader.nextPiece(); frame !== undefined; frame = reader.nextPiece()) {
      const item = outputItem(frame);
      yield item;
      if (item.stream === "end") return;
    }
    const chunk = await nextChunk(socket);
    if (chunk === null) throw watch.failure();
    reader.push(chunk);
  }
}

/** Passes the frames of the connection to a function. Destroys the connection at its end. */
async function listenTo(connection: Connection, reader: FrameReader, each: (item: ProcessOutput | ProcessEnd) => void): Promise<void> {
  const { socket } = connection;
  using watch = watched(connection);
  let settle = (_isComplete: boolean): void => {};
  const end = new Promise<boolean>((resolve) => {
    settle = resolve;
  });
  const take = (): void => {
    for (let frame = reader.nextPiece(); frame !== undefined; frame = reader.nextPiece()) {
      const item = outputItem(frame);
      each(item);
      if (item.stream === "end") {
        settle(true);
        return;
      }
    }
    reader.keep();
  };
  socket.once("end", () => settle(false)).once("close", () => settle(false));
  take();
  socket.listen((bytes) => {
    reader.push(bytes);
    take();
  });
  if (socket.destroyed) settle(false);
  if (!(await end)) throw watch.failure();
}

interface Watch extends Disposable {
  /** Returns why the connection ended before the program. */
  failure(): unknown;
}

/** Destroys the connection if the holder hangs, and at the end of its use. */
function watched({ socket, pulse, signal }: Connection): Watch {
  let failure: unknown;
  let stop = (): void => {};
  const ended = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const watching = pulse.during((cut) => {
    cut.addEventListener("abort", () => {
      failure = cut.reason;
      socket.destroy();
    });
    return ended;
  });
  watching.catch((error: unknown) => {
    failure ??= error;
    socket.destroy();
  });
  return {
    failure: () =>
      signal.aborted
        ? signal.reason
        : (failure ??
          new Failure("host_error", "the program's connection ended before the program: the lab was stopped, or its holder ended")),
    [Symbol.dispose]: () => {
      stop();
      socket.destroy();
    },
  };
}

/** Reads what has arrived. Returns null at the end of the connection. Bytes before an error are read first. */
async function nextChunk(socket: SocketStream): Promise<Buffer | null> {
  for (;;) {
    const chunk = socket.read() as Buffer | null;
    if (chunk !== null) return chunk;
    if (socket.destroyed || socket.readableEnded) return null;
    await new Promise<void>((resolve) => {
      const done = () => {
        socket.off("readable", done).off("end", done).off("close", done);
        resolve();
      };
      socket.on("readable", done).on("end", done).on("close", done);
    });
  }
}

function outputItem(frame: Frame): ProcessOutput | ProcessEnd {
  if (frame.type === "O" || frame.type === "X") return { stream: frame.type === "O" ? "stdout" : "stderr", data: frame.data };
  const [code, signal, reason] = texts(frame);
  return {
    stream: "end",
    ...(code === "-1" ? { signal: Number(signal) } : { exitCode: Number(code) }),
    ...(reason === "timeout" || reason === "stopped" ? { reason } : {}),
  };
}
