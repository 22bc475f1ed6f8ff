/**
 * The bytes of streamProcess, in both directions: frames. A frame is the length of its content (four bytes, big-endian), a
 * type (one byte), and the content. Types are append-only.
 */
export const frameTypes = {
  /** A JSON object: of the client NodeStreamControl, of the service an event `end` or `failed` of execNodes. */
  control: 0,
  /** From the client: standard input. From the service: standard output. */
  data: 1,
  /** Standard error. */
  error: 2,
} as const;

const headBytes = 5;
/** Maximum bytes of a control frame. Other frames are of any length: they are handled as they arrive. */
const maxControl = 64 << 10;

/** Returns the bytes before the content of a frame. */
export function frameHead(type: number, length: number): Uint8Array {
  const head = new Uint8Array(headBytes);
  new DataView(head.buffer).setUint32(0, length);
  head[4] = type;
  return head;
}

/** Returns a complete frame. */
export function frame(type: number, content: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(headBytes + content.length);
  bytes.set(frameHead(type, content.length));
  bytes.set(content, headBytes);
  return bytes;
}

/** A control frame with its complete content, or a part of another frame. */
export interface FramePart {
  readonly type: number;
  readonly data: Uint8Array;
}

/** Splits bytes into frames. Data is passed on in the pieces in which it arrives, without a copy. */
export class FrameParts {
  #head = new Uint8Array(headBytes);
  #headLength = 0;
  #type = 0;
  #left = 0;
  #control: Uint8Array = new Uint8Array();

  /** Returns the parts in the next bytes of the stream. Throws RangeError for a control frame that is too large. */
  take(bytes: Uint8Array): FramePart[] {
    const parts: FramePart[] = [];
    for (let at = 0; at < bytes.length || this.#isComplete(); ) {
      if (this.#headLength < headBytes) at += this.#takeHead(bytes.subarray(at, at + headBytes - this.#headLength));
      else {
        const data = bytes.subarray(at, at + this.#left);
        at += data.length;
        this.#takeContent(data, parts);
      }
    }
    return parts;
  }

  /** True if a frame without content waits. */
  #isComplete(): boolean {
    return this.#headLength === headBytes && this.#left === 0;
  }

  #takeHead(bytes: Uint8Array): number {
    this.#head.set(bytes, this.#headLength);
    this.#headLength += bytes.length;
    if (this.#headLength < headBytes) return bytes.length;
    this.#left = new DataView(this.#head.buffer).getUint32(0);
    this.#type = this.#head[4] ?? 0;
    if (this.#type !== frameTypes.control) return bytes.length;
    if (this.#left > maxControl) throw new RangeError(`a control frame of ${this.#left} bytes; at most ${maxControl} are allowed`);
    this.#control = new Uint8Array(this.#left);
    return bytes.length;
  }

  #takeContent(data: Uint8Array, parts: FramePart[]): void {
    if (this.#type === frameTypes.control) this.#control.set(data, this.#control.length - this.#left);
    else if (data.length > 0) parts.push({ type: this.#type, data });
    this.#left -= data.length;
    if (this.#left > 0) return;
    this.#headLength = 0;
    if (this.#type === frameTypes.control) parts.push({ type: this.#type, data: this.#control });
  }
}
