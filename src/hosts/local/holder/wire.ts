/** What the holder speaks; see README.md. A holder of another version is never spoken to: labs outlive the service that made them. */
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

/** A list field: a count, then that many groups. */
export function list(items: readonly (string | number)[], width = 1): (string | number)[] {
  return [items.length / width, ...items];
}

/**
 * R result (ends the reply, except for watch and console), E refusal: code, text; N node state; S one node's spawn;
 * O and X bytes of standard output and error.
 */
export interface Frame {
  readonly type: string;
  readonly data: Buffer;
}

/** The texts of an R, E, N or S frame. */
export function texts(frame: Frame): string[] {
  return frame.data.toString("utf8").split("\0").slice(0, -1);
}

/** Cuts a byte stream into frames. */
export class FrameReader {
  #parts: Buffer[] = [];
  #size = 0;

  push(chunk: Buffer): void {
    this.#parts.push(chunk);
    this.#size += chunk.length;
  }

  next(): Frame | undefined {
    if (this.#size < 4) return undefined;
    const first = this.#parts[0]!;
    if (first.length < 4) this.#join();
    const length = this.#parts[0]!.readUInt32LE(0);
    if (length === 0) throw new RangeError("frame without a type");
    if (this.#size < 4 + length) return undefined;
    const all = this.#join();
    this.#parts = all.length > 4 + length ? [all.subarray(4 + length)] : [];
    this.#size -= 4 + length;
    return { type: String.fromCharCode(all[4]!), data: all.subarray(5, 4 + length) };
  }

  /** What came after the last frame. */
  rest(): Buffer {
    return this.#join();
  }

  #join(): Buffer {
    if (this.#parts.length !== 1) this.#parts = [Buffer.concat(this.#parts)];
    return this.#parts[0]!;
  }
}
