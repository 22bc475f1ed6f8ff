/** Bytes of a block. */
const blockBytes = 128 << 10;
/** Blocks that are kept for the next who needs one. */
const mostFree = 16;
/** What begins with little gets a small block: most consoles say a line at a time. */
const smallBytes = 4 << 10;

const free: Buffer[] = [];

interface Block {
  readonly memory: Buffer;
  length: number;
}

/**
 * Bytes that wait, copied into blocks of memory that are used again: a stream that runs for hours makes no garbage. What is taken out belongs to who takes it,
 * until it is given back.
 */
export class Blocks {
  readonly #waiting: Block[] = [];
  #size = 0;

  /** Bytes that wait. */
  get size(): number {
    return this.#size;
  }

  push(bytes: Buffer): void {
    for (let from = 0; from < bytes.length; ) {
      let last = this.#waiting.at(-1);
      if (last === undefined || last.length === last.memory.length) {
        const few = last === undefined && bytes.length - from <= smallBytes / 2;
        last = { memory: few ? Buffer.allocUnsafeSlow(smallBytes) : (free.pop() ?? Buffer.allocUnsafeSlow(blockBytes)), length: 0 };
        this.#waiting.push(last);
      }
      const count = bytes.copy(last.memory, last.length, from);
      last.length += count;
      from += count;
    }
    this.#size += bytes.length;
  }

  /** The oldest bytes, undefined where none wait. */
  shift(): Buffer | undefined {
    const first = this.#waiting.shift();
    if (first === undefined) return undefined;
    this.#size -= first.length;
    return first.memory.subarray(0, first.length);
  }

  clear(): void {
    for (let bytes = this.shift(); bytes !== undefined; bytes = this.shift()) Blocks.giveBack(bytes);
  }

  /** For bytes that nobody looks at any more. */
  static giveBack(bytes: Buffer): void {
    if (bytes.buffer.byteLength === blockBytes && free.length < mostFree) free.push(Buffer.from(bytes.buffer));
  }
}
