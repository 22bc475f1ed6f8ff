import { closeSync, openSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { basename, dirname } from "node:path";
import type { Duplex } from "node:stream";
import { Failure } from "../../../contract/errors.ts";
import { encodeRequest, type Frame, FrameReader, texts } from "./wire.ts";

export type Fields = readonly (string | number)[];

export interface RequestOptions {
  /** Called for each frame before the result. */
  readonly onFrame?: (frame: Frame) => void;
  /** Ends the connection, and the holder's work for it. */
  readonly signal?: AbortSignal | undefined;
  /** Deadline of a request that a holder answers at once. Without an answer the holder is stuck and the request fails with host_timeout. Milliseconds. */
  readonly deadlineMs?: number;
}

/**
 * Sends one request on its own connection. Returns the data of the result frame. Throws Failure: node_not_found, node_not_running,
 * host_error with the holder's message, or host_error naming the request when the connection breaks.
 */
export async function request(path: string, command: string, fields: Fields, options: RequestOptions = {}): Promise<Frame> {
  const { deadlineMs, ...rest } = options;
  const late = new AbortController();
  const stop = deadlineMs === undefined ? undefined : afterRunning(deadlineMs, () => late.abort(unanswered(command, deadlineMs)));
  try {
    const signal = rest.signal ?? (stop && late.signal);
    const { socket, result } = await openRequest(path, command, fields, { ...rest, ...(signal && { signal }) });
    socket.destroy();
    return result;
  } finally {
    stop?.();
  }
}

function unanswered(command: string, ms: number): Failure {
  const text = `the lab's holder did not answer ${command} in ${ms} ms: try again later; labwright destroy works without the holder`;
  return new Failure("host_timeout", text);
}

/**
 * Calls `then` when this process has run for `ms`. Time in which it was stopped or got no processor hardly counts: it could then neither send a request nor
 * read an answer. Returns the function that stops it.
 */
function afterRunning(ms: number, then: () => void): () => void {
  const slice = Math.min(250, ms / 8);
  let left = ms;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    left -= Math.min(now - last, 2 * slice);
    last = now;
    if (left > 0) return;
    clearInterval(timer);
    // First reads an answer that has arrived.
    setImmediate(then);
  }, slice);
  return () => clearInterval(timer);
}

/** The same for a request whose connection stays open after the result. `rest` contains the bytes after the result. The caller destroys the socket. */
export function openRequest(path: string, command: string, fields: Fields, options: RequestOptions = {}): Promise<OpenRequest<Socket>> {
  return openRequestOn((address) => connect(address), path, command, fields, options);
}

export interface OpenRequest<Stream extends Duplex> {
  readonly socket: Stream;
  readonly result: Frame;
  readonly reader: FrameReader;
}

/** The same over a connection that `open` makes; it emits "connect" or "error". */
export async function openRequestOn<Stream extends Duplex>(
  open: (address: string) => Stream,
  path: string,
  command: string,
  fields: Fields,
  { onFrame, signal }: RequestOptions = {},
): Promise<OpenRequest<Stream>> {
  signal?.throwIfAborted();
  const socket = await connectTo(open, path, command);
  const reader = new FrameReader();
  try {
    // Aborted while connecting: no event will follow.
    signal?.throwIfAborted();
    const result = await new Promise<Frame>((resolve, reject) => {
      const broke = (why: string) => () => reject(new Failure("host_error", `the lab's holder did not finish ${command}: ${why}`));
      // Ended before this function got it: no event will follow.
      if (socket.destroyed) return broke("the connection closed")();
      const onAbort = () => reject(signal?.reason);
      // Not "data": that would leave the stream flowing or paused, but its next owner expects it unchanged.
      const onReadable = () => {
        try {
          for (let chunk: Buffer | null = socket.read(); chunk !== null; chunk = socket.read()) reader.push(chunk);
          for (let frame = reader.next(); frame !== undefined; frame = reader.next()) {
            if (frame.type === "E") return reject(refusal(command, frame));
            if (frame.type === "R") {
              signal?.removeEventListener("abort", onAbort);
              socket.removeAllListeners("readable").removeAllListeners("close").removeAllListeners("error");
              return resolve(frame);
            }
            onFrame?.(frame);
          }
        } catch (error) {
          reject(error);
        }
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      socket.on("readable", onReadable).on("close", broke("the connection closed"));
      socket.on("error", (error) => broke(error.message)());
      socket.write(encodeRequest(command, fields));
    });
    return { socket, result, reader };
  } catch (error) {
    socket.on("error", () => {}); // reported already
    socket.destroy();
    throw error;
  }
}

function refusal(command: string, frame: Frame): Failure {
  const [code, words = ""] = texts(frame);
  if (code === "no-node") return new Failure("node_not_found", words);
  if (code === "not-running") return new Failure("node_not_running", words);
  return new Failure("host_error", `the lab's holder refused ${command}: ${words}`, { data: { host: words } });
}

/** Maximum bytes of a socket address without its final NUL, a limit of the kernel. */
const maxAddress = 107;

async function connectTo<Stream extends Duplex>(open: (address: string) => Stream, path: string, command: string): Promise<Stream> {
  let directory: number | undefined;
  let address = path;
  try {
    if (Buffer.byteLength(path) > maxAddress) {
      // Synchronous: a thread may be waiting for a disk, and the time of this request runs already.
      directory = openSync(dirname(path), "r");
      address = `/proc/self/fd/${directory}/${basename(path)}`;
    }
    return await new Promise<Stream>((resolve, reject) => {
      const socket = open(address);
      // Needed because an error before the request starts would have no listener. The request sees it as a destroyed socket.
      socket.once("error", reject).once("connect", () => resolve(socket.on("error", () => {}).off("error", reject)));
    });
  } catch (error) {
    const words = (error as Error).message;
    throw new Failure("host_error", `no connection to the lab's holder for ${command}: ${words}`, { data: { host: words }, cause: error });
  } finally {
    if (directory !== undefined) closeSync(directory);
  }
}
