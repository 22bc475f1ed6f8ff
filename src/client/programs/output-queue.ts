import type { Duplex } from "node:stream";
import { FrameParts, frameTypes } from "../../contract/process-frames.ts";
import { listenTo } from "../../transport/direct-reads.ts";
import { LabwrightError } from "../error.ts";
import type { RemoteEnd, RemoteOutput } from "./process.ts";

/** Bytes of an item: pieces of a stream that arrive before they are read are joined. */
const itemBytes = 512 << 10;
/** Waiting bytes from which the connection is not read. */
const high = 1 << 20;
/** Memory of items that is kept for reuse. */
const maxFree = 4;
/** The first piece of an item that is smaller gets no room for more: most programs write little. */
const smallBytes = 4 << 10;

interface Gathered {
  readonly stream: "stdout" | "stderr";
  memory: Buffer;
  length: number;
}

/** The output that has arrived and waits for its reader. */
export class OutputQueue {
  readonly #connection: Duplex;
  readonly #frames = new FrameParts();
  readonly #waiting: Gathered[] = [];
  readonly #free: Buffer[] = [];
  #bytes = 0;
  #end: RemoteEnd | undefined;
  #failure: unknown;
  #isClosed = false;
  #wake: (() => void) | undefined;

  constructor(connection: Duplex) {
    this.#connection = connection;
    const close = () => {
      this.#isClosed = true;
      this.#wake?.();
    };
    connection
      .once("end", close)
      .once("close", close)
      .once("error", (error) => {
        this.#failure ??= error;
        close();
      });
    listenTo(connection, (bytes) => this.#take(bytes));
    if (connection.destroyed) close();
  }

  /** Returns the next output, or the end of the program; `undefined` if the connection ended before. Throws the error of the program or the connection. */
  async next(): Promise<RemoteOutput | RemoteEnd | undefined> {
    for (;;) {
      const item = this.#waiting.shift();
      if (item !== undefined) {
        this.#bytes -= item.length;
        if (this.#bytes < high / 2 && this.#connection.isPaused()) this.#connection.resume();
        return { stream: item.stream, data: item.memory.subarray(0, item.length) };
      }
      if (this.#end !== undefined) return this.#end;
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#isClosed) return undefined;
      await new Promise<void>((resolve) => {
        // Pieces that arrive in the same turn of the event loop are read together.
        this.#wake = () => setImmediate(resolve);
      });
      this.#wake = undefined;
    }
  }

  /** Gives the memory of an item back. */
  reuse({ buffer, byteOffset }: Buffer): void {
    if (buffer.byteLength === itemBytes && byteOffset === 0 && this.#free.length < maxFree) this.#free.push(Buffer.from(buffer));
  }

  #memory(length: number): Buffer {
    return length > itemBytes ? Buffer.allocUnsafeSlow(length) : (this.#free.pop() ?? Buffer.allocUnsafeSlow(itemBytes));
  }

  #take(bytes: Buffer): void {
    if (this.#end !== undefined || this.#failure !== undefined) return;
    try {
      for (const { type, data } of this.#frames.take(bytes)) {
        if (type === frameTypes.data) this.#add("stdout", data);
        else if (type === frameTypes.error) this.#add("stderr", data);
        else if (type === frameTypes.control) this.#end ??= endIn(JSON.parse(Buffer.from(data).toString("utf8")));
      }
    } catch (error) {
      this.#failure = error;
    }
    if (this.#bytes >= high) this.#connection.pause();
    this.#wake?.();
  }

  #add(stream: Gathered["stream"], data: Uint8Array): void {
    let last = this.#waiting.at(-1);
    if (last === undefined || last.stream !== stream || last.memory.length - last.length < data.length) {
      const few = last === undefined && data.length <= smallBytes;
      last = { stream, memory: few ? Buffer.allocUnsafe(data.length) : this.#memory(data.length), length: 0 };
      this.#waiting.push(last);
    }
    last.memory.set(data, last.length);
    last.length += data.length;
    this.#bytes += data.length;
  }
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
