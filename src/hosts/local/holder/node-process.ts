import type { Socket } from "node:net";
import { Failure } from "../../../contract/errors.ts";
import type { NodeProcess, NodeProgram, ProcessEnd, ProcessOutput, WindowSize } from "../../host-processes.ts";
import type { Pulse } from "./pulse.ts";
import { openRequest } from "./request.ts";
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
    .during((cut) => openRequest(path, "process", fields, { signal: AbortSignal.any([signal, cut]) }))
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
  readonly #socket: Socket;
  #isGathering = false;

  constructor(socket: Socket, reader: FrameReader, pulse: Pulse, signal: AbortSignal) {
    this.#socket = socket;
    // Input for a program that has ended fails. The end of the output is handled by the reader.
    socket.on("error", () => {});
    const abort = () => socket.destroy();
    signal.addEventListener("abort", abort, { once: true });
    socket.once("close", () => signal.removeEventListener("abort", abort));
    if (signal.aborted) abort();
    this.output = outputOf(socket, reader, pulse, signal);
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length && !this.#socket.destroyed; at += inputPiece) {
      const piece = bytes.subarray(at, at + inputPiece);
      this.#gather();
      this.#socket.write(frameHead("I", piece.length));
      if (this.#socket.write(piece)) continue;
      this.#flush();
      await drained(this.#socket);
    }
  }

  /** Holds back what is written until the end of this turn of the event loop: a client's input arrives in small pieces, many of them at once. */
  #gather(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    this.#socket.cork();
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    if (!this.#isGathering) return;
    this.#isGathering = false;
    this.#socket.uncork();
  }

  endInput(): void {
    this.#send("I", Buffer.alloc(0));
  }

  resize({ columns, rows }: WindowSize): void {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt16LE(columns, 0);
    bytes.writeUInt16LE(rows, 2);
    this.#send("W", bytes);
  }

  signal(number: number): void {
    this.#send("S", Buffer.from([number]));
  }

  close(): void {
    this.#socket.destroy();
  }

  #send(type: string, data: Buffer): void {
    if (!this.#socket.destroyed) this.#socket.write(encodeFrame(type, data));
  }
}

/** Waits until the holder has taken the input, or the connection is closed. */
async function drained(socket: Socket): Promise<void> {
  if (socket.destroyed || !socket.writableNeedDrain) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      socket.off("drain", done).off("close", done);
      resolve();
    };
    socket.on("drain", done).on("close", done);
  });
}

/** Yields the frames of the connection as output. Destroys the connection at its end. */
async function* outputOf(
  socket: Socket,
  reader: FrameReader,
  pulse: Pulse,
  signal: AbortSignal,
): AsyncGenerator<ProcessOutput | ProcessEnd> {
  let failure: unknown;
  let stopWatching = (): void => {};
  const ended = new Promise<void>((resolve) => {
    stopWatching = resolve;
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
  try {
    for (;;) {
      for (let frame = reader.nextPiece(); frame !== undefined; frame = reader.nextPiece()) {
        const item = outputItem(frame);
        yield item;
        if (item.stream === "end") return;
      }
      const chunk = await nextChunk(socket);
      if (chunk === null) break;
      reader.push(chunk);
    }
    signal.throwIfAborted();
    throw (
      failure ?? new Failure("host_error", "the program's connection ended before the program: the lab was stopped, or its holder ended")
    );
  } finally {
    stopWatching();
    socket.destroy();
  }
}

/** Reads what has arrived. Returns null at the end of the connection. Bytes before an error are read first. */
async function nextChunk(socket: Socket): Promise<Buffer | null> {
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
