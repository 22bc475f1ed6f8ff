import type { IncomingMessage } from "node:http";
import { SerialQueue } from "../../base/keyed-queue.ts";
import { Failure } from "../../contract/errors.ts";
import type { BodyPlace } from "../requests/body-room.ts";
import { badRequest } from "./failures.ts";

/** No real request is nested deeper. Deeper values would overflow the stack of recursive code. */
const maxDepth = 500;

/** Far more than the largest lab has. 32 MiB of the shortest values would block the event loop for seconds and take a gigabyte of memory. */
const maxValues = 1_000_000;

/** The maximum for one list or map in the body: each entry may be a problem, and the answer contains all problems. */
const maxEntries = 50_000;
/** Maximum keys of any map, checked before parsing: the parser would take seconds for a map with many more. */
const maxKeys = 2 * maxEntries;

/** Up to this many bytes of a refused request are read, so that its connection stays usable. More bytes end the connection. */
const drainLimit = 4 * 33_554_432;

/** Requests whose body did not arrive in time. */
const late = new WeakSet<IncomingMessage>();

export type ParseJson = (text: string) => unknown;

export interface BodyOptions {
  /** Bytes. */
  readonly limit: number;
  readonly parse: ParseJson;
  /** Parses large bodies one after another, so that the event loop runs between them. */
  readonly parsing: YieldingQueue;
  /** Counts the bytes of the body. */
  readonly place: Pick<BodyPlace, "grow">;
  /** The time that the client has to send the body, ms. Absent: the time that the server allows for a whole request. */
  readonly withinMs?: number;
}

/** Reads and parses the JSON body of a request. Throws unsupported_media_type, payload_too_large, overloaded, bad_request. */
export async function readJsonBody(request: IncomingMessage, { limit, parse, parsing, place, withinMs }: BodyOptions): Promise<unknown> {
  if (!isJson(request))
    throw new Failure("unsupported_media_type", "the body must have Content-Type application/json, and no Content-Encoding");
  const bytes = await readBytes(request, { limit, place, withinMs });
  if (bytes.length === 0) throw badRequest([{ path: "", message: "a JSON object is required as body" }]);
  return bytes.length < 256 * 1024 ? parseBytes(bytes, parse) : parsing.run(() => parseBytes(bytes, parse));
}

/**
 * Reads and discards the rest of a request. Disconnects a client that sends nothing for `idleMs`. Returns false if the connection must be
 * closed instead, because the declared length is too large or the body came too late.
 */
export function drain(request: IncomingMessage, idleMs: number): boolean {
  if (!hasBody(request) || request.readableEnded || request.destroyed) return true;
  if (late.has(request)) return false;
  let left = drainLimit;
  const idle = setTimeout(() => request.socket.destroy(), idleMs).unref();
  request.once("close", () => clearTimeout(idle));
  request.on("data", (chunk: Buffer) => {
    idle.refresh();
    left -= chunk.length;
    if (left < 0) request.socket.destroy();
  });
  request.resume();
  return Number(request.headers["content-length"] ?? 0) <= drainLimit;
}

/** Runs tasks in order, one at a time. The event loop runs between two tasks. */
export class YieldingQueue {
  readonly #queue = new SerialQueue();

  run<T>(work: () => T): Promise<T> {
    const result = this.#queue.run(async () => work());
    void this.#queue.run(yieldToEventLoop);
    return result;
  }
}

function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function isJson(request: IncomingMessage): boolean {
  const { "content-type": type, "content-encoding": encoding } = request.headers;
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") return false;
  if (type === undefined) return !hasBody(request);
  const [media = "", ...parameters] = type.toLowerCase().split(";");
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith("charset="));
  return media.trim() === "application/json" && (charset === undefined || /^charset="?utf-8"?$/.test(charset));
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** Reads a body to its end. This includes a body that is slightly too large: many clients drop a connection that answers while they write. */
async function readBytes(
  request: IncomingMessage,
  { limit, place, withinMs }: Pick<BodyOptions, "limit" | "place"> & { readonly withinMs: number | undefined },
): Promise<Buffer> {
  const tooLarge = () => new Failure("payload_too_large", `the body is over ${limit} bytes`);
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > drainLimit) throw tooLarge();
  if (announced <= limit) place.grow(announced);
  return await new Promise((resolve, reject) => {
    let chunks: Buffer[] = [];
    let size = 0;
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) {
        try {
          place.grow(size);
        } catch (error) {
          return finish(() => reject(error));
        }
        chunks.push(chunk);
      } else chunks = [];
      if (size > drainLimit) finish(() => reject(tooLarge()));
    };
    const onEnd = () => finish(() => (size > limit ? reject(tooLarge()) : resolve(Buffer.concat(chunks, size))));
    const onCut = () => finish(() => reject(badRequest([{ path: "", message: "the body ended too early" }])));
    const onLate = () => {
      late.add(request);
      finish(() => reject(badRequest([{ path: "", message: "the body took too long to arrive" }])));
    };
    const timer = withinMs === undefined ? undefined : setTimeout(onLate, withinMs).unref();
    const finish = (settle: () => void) => {
      clearTimeout(timer);
      request.off("data", onData).off("end", onEnd).off("error", onCut).off("close", onCut);
      settle();
    };
    request.on("data", onData).on("end", onEnd).on("error", onCut).on("close", onCut);
  });
}

function parseBytes(bytes: Buffer, parse: ParseJson): unknown {
  const excess = excessOf(bytes);
  if (excess !== undefined) throw badRequest([{ path: "", message: excess }]);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new Failure("bad_request", "the body is not UTF-8", { data: { problems: [{ path: "", message: "is not UTF-8" }] }, cause });
  }
  try {
    const body = parse(text);
    refuseLong(body);
    return body;
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    // The parser's message quotes the body, which may contain a password: only the place is reported.
    const place = /\(line \d+ column \d+\)/.exec(String(cause))?.[0];
    const message = place === undefined ? "is not JSON" : `is not JSON ${place}`;
    throw new Failure("bad_request", `the body ${message}`, { data: { problems: [{ path: "", message }] }, cause });
  }
}

function refuseLong(body: unknown): void {
  if (typeof body !== "object" || body === null) return;
  const long = Object.entries(body).filter(([, value]) => hasMoreEntries(value, maxEntries));
  if (long.length === 0) return;
  throw badRequest(long.map(([name]) => ({ path: `/${name}`, message: `has more than ${maxEntries} entries` })));
}

function hasMoreEntries(value: unknown, max: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.length > max;
  let count = 0;
  for (const _ in value) if (++count > max) return true;
  return false;
}

/** Checks the nesting and the number of values of a JSON text before it is parsed. Returns the problem, if there is one. */
function excessOf(bytes: Buffer): string | undefined {
  let depth = 0;
  let values = 1;
  let quoted = false;
  /** Number of keys so far of each map around the place, by its depth. */
  const keys = [0];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (quoted) {
      if (byte === 0x5c) at++;
      else if (byte === 0x22) quoted = false;
    } else if (byte === 0x22) quoted = true;
    else if (byte === 0x2c) values++;
    else if (byte === 0x3a) {
      if (++keys[depth]! > maxKeys) return `the body has a map with more than ${maxKeys} entries`;
    } else if (byte === 0x7b || byte === 0x5b) {
      values++;
      if (++depth > maxDepth) return `the body is nested deeper than ${maxDepth} levels`;
      keys[depth] = 0;
    } else if (byte === 0x7d || byte === 0x5d) depth = Math.max(0, depth - 1);
  }
  return values > maxValues ? `the body has more than ${maxValues} values` : undefined;
}
