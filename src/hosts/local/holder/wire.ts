/** The version of the holder's protocol; see README.md. The service sends no request to a holder of another version, which an older service may have started. */
export const protocolVersion = 1;

/** A request: u32 length, then fields of u32 length, bytes, NUL. Little-endian. */
export function encodeRequest(command: string, fields: readonly (string | number)[]): Buffer {
  const all = [protocolVersion, command, ...fields].map((field) => Buffer.from(String(field)));
  const bytes = Buffer.alloc(4 + all.reduce((sum, field) => sum + field.length + 5, 0));
  bytes.writeUInt32LE(bytes.length - 4, 0);
  let at = 4;
  for (const field of all) {
    at = bytes.writeUInt32LE(field.length, at);
    at += field.copy(bytes, at) + 1;
  }
  return bytes;
}

/** Encodes a list field: a count, then this number of groups. */
export function list(items: readonly (string | number)[], width = 1): (string | number)[] {
  return [items.length / width, ...items];
}

/**
 * R result (ends the reply, except for watch, console and process), D end of a process, E refusal: code, text; N node state; S one node's spawn;
 * O and X bytes of standard output and error.
 */
export interface Frame {
  readonly type: string;
  readonly data: Buffer;
}

/** Encodes a frame of a client: input, the size of a window, a signal. */
export function encodeFrame(type: string, data: Uint8Array): Buffer {
  return Buffer.concat([frameHead(type, data.length), data]);
}

/** Returns the first bytes of a frame with this many bytes of data. */
export function frameHead(type: string, length: number): Buffer {
  const bytes = Buffer.alloc(5);
  bytes.writeUInt32LE(length + 1, 0);
  bytes.write(type, 4, "latin1");
  return bytes;
}

/** Returns the texts of an R, E, N, S or D frame. */
export function texts(frame: Frame): string[] {
  return frame.data.toString("utf8").split("\0").slice(0, -1);
}

/** Cuts a byte stream into frames. */
export class FrameReader {
  #bytes: Buffer = Buffer.alloc(0);
  /** Number of bytes of #bytes that were already returned. */
  #at = 0;
  /** Chunks after #bytes. */
  #more: Buffer[] = [];
  /** Bytes not given out yet. */
  #size = 0;
  /** Type and missing bytes of the frame that nextPiece() is returning. */
  #type = "";
  #left = 0;

  push(chunk: Buffer): void {
    this.#more.push(chunk);
    this.#size += chunk.length;
  }

  next(): Frame | undefined {
    if (!this.#joined(4)) return undefined;
    const length = this.#bytes.readUInt32LE(this.#at);
    if (length === 0) throw new RangeError("frame without a type");
    if (!this.#joined(4 + length)) return undefined;
    const begin = this.#at + 4;
    this.#at = begin + length;
    this.#size -= 4 + length;
    return { type: String.fromCharCode(this.#bytes[begin]!), data: this.#bytes.subarray(begin + 1, this.#at) };
  }

  /** Like next(), but returns an O or X frame in the pieces in which it arrives, without a copy of its bytes. */
  nextPiece(): Frame | undefined {
    if (this.#left === 0) {
      if (!this.#joined(4)) return undefined;
      const length = this.#bytes.readUInt32LE(this.#at);
      if (length <= 1) return this.next();
      if (!this.#joined(5)) return undefined;
      const type = String.fromCharCode(this.#bytes[this.#at + 4]!);
      if (type !== "O" && type !== "X") return this.next();
      this.#type = type;
      this.#left = length - 1;
      this.#at += 5;
      this.#size -= 5;
    }
    if (this.#at === this.#bytes.length) {
      const chunk = this.#more.shift();
      if (chunk === undefined) return undefined;
      this.#bytes = chunk;
      this.#at = 0;
    }
    const data = this.#bytes.subarray(this.#at, this.#at + this.#left);
    this.#at += data.length;
    this.#size -= data.length;
    this.#left -= data.length;
    return { type: this.#type, data };
  }

  /** Copies the bytes that were not returned yet, because the memory of the chunks will be reused. */
  keep(): void {
    this.#bytes = Buffer.concat([this.#bytes.subarray(this.#at), ...this.#more]);
    this.#at = 0;
    this.#more = [];
  }

  /** Bytes after the last frame. */
  rest(): Buffer {
    this.#joined(this.#size);
    return this.#bytes.subarray(this.#at);
  }

  /** Returns whether `count` bytes have arrived. They are then in #bytes. */
  #joined(size: number): boolean {
    if (this.#size < size) return false;
    if (this.#bytes.length - this.#at >= size) return true;
    const left = this.#bytes.subarray(this.#at);
    this.#bytes = left.length === 0 && this.#more.length === 1 ? this.#more[0]! : Buffer.concat([left, ...this.#more]);
    this.#at = 0;
    this.#more = [];
    return true;
  }
}
