import type { Readable, Writable } from "node:stream";
import { Failure } from "../../contract/errors.ts";

/** Texts and frames between the machines of a lab. */

/** Keys of objects that stand for something else. An object that has one of them itself stands in `~entries`. */
const marks = ["~map", "~failure", "~entries"];

/** Returns JSON in which maps and failures are kept. */
export function encode(value: unknown): string {
  return JSON.stringify(value ?? null, (_key, one: unknown) => {
    if (one instanceof Map) return { "~map": [...one] };
    if (one instanceof Failure) return { "~failure": { code: one.code, message: one.message, data: one.data } };
    if (typeof one === "object" && one !== null && marks.some((mark) => Object.hasOwn(one, mark)))
      return { "~entries": Object.entries(one) };
    return one;
  });
}

export function decode(text: string): unknown {
  return JSON.parse(text, (_key, one: unknown) => {
    if (typeof one !== "object" || one === null) return one;
    if (Object.hasOwn(one, "~entries")) return Object.fromEntries((one as { "~entries": [string, unknown][] })["~entries"]);
    if (Object.hasOwn(one, "~map")) return new Map((one as { "~map": [unknown, unknown][] })["~map"]);
    if (Object.hasOwn(one, "~failure")) {
      const { code, message, data } = (one as { "~failure": { code: "internal"; message: string; data?: object } })["~failure"];
      return new Failure(code, message, data === undefined ? {} : { data: data as never });
    }
    return one;
  });
}

export async function textOf(stream: Readable): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}

export interface Frame {
  /** One byte. */
  readonly kind: number;
  readonly data: Buffer;
}

const headBytes = 5;

/** Returns false if the reader is behind. */
export function writeFrame(to: Writable, kind: number, data: Uint8Array | string = ""): boolean {
  if (to.destroyed || to.writableEnded) return true;
  const bytes = Buffer.from(data as Uint8Array);
  const head = Buffer.alloc(headBytes);
  head.writeUInt8(kind);
  head.writeUInt32BE(bytes.length, 1);
  return to.write(Buffer.concat([head, bytes]));
}

export async function* framesOf(stream: Readable): AsyncGenerator<Frame> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const part of stream) {
    rest = rest.length === 0 ? (part as Buffer) : Buffer.concat([rest, part as Buffer]);
    while (rest.length >= headBytes) {
      const end = headBytes + rest.readUInt32BE(1);
      if (rest.length < end) break;
      yield { kind: rest.readUInt8(0), data: rest.subarray(headBytes, end) };
      rest = rest.subarray(end);
    }
  }
}
