/** Bytes of a block. */
const blockBytes = 128 << 10;
/** Unused blocks that are kept for reuse. */
const maxFreeBlocks = 16;
/** Little data gets a small block first: most consoles print one line at a time. */
const smallBytes = 4 << 10;

const free: Buffer[] = [];

interface Block {
  readonly memory: Buffer;
  length: number;
}

/**
 * A queue of bytes, copied into reused memory blocks, so that a stream that runs for hours makes no garbage. The caller owns a taken block until it
 * gives it back.
 */
export class Blocks {
  readonly #waiting: Block[] = [];
  #size = 0;

  /** Number of queued bytes. */
  get size(): number {
    return this.#size;
  }

  /** @param more bytes that are pushed next */
  push(bytes: Uint8Array, more = 0): void {
    for (let from = 0; from < bytes.length; ) {
      let last = this.#waiting.at(-1);
      if (last === undefined || last.length === last.memory.length) {
        const few = last === undefined && bytes.length + more - from <= smallBytes / 2;
        last = { memory: few ? Buffer.allocUnsafeSlow(smallBytes) : (free.pop() ?? Buffer.allocUnsafeSlow(blockBytes)), length: 0 };
        this.#waiting.push(last);
      }
      const count = Math.min(bytes.length - from, last.memory.length - last.length);
      last.memory.set(count === bytes.length ? bytes : bytes.subarray(from, from + count), last.length);
      last.length += count;
      from += count;
    }
    this.#size += bytes.length;
  }

  /** Takes the oldest bytes; undefined if the queue is empty. */
  shift(): Buffer | undefined {
    const first = this.#waiting.shift();
    if (first === undefined) return undefined;
    this.#size -= first.length;
    return first.memory.subarray(0, first.length);
  }

  clear(): void {
    for (let bytes = this.shift(); bytes !== undefined; bytes = this.shift()) Blocks.giveBack(bytes);
  }

  /** Drops all bytes. */
  static giveBack(bytes: Buffer): void {
    if (bytes.buffer.byteLength === blockBytes && free.length < maxFreeBlocks) free.push(Buffer.from(bytes.buffer));
  }
}
