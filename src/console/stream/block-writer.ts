import type { Writable } from "node:stream";
import { BlockSender } from "./block-sender.ts";
import { Blocks } from "./blocks.ts";

/** Bytes that are written at once. Fewer wait for the end of this turn of the event loop, in which more may come. */
const much = 64 << 10;
/** Bytes that may wait before a caller should wait too. */
const high = 512 << 10;

/** Writes bytes to a stream with as few writes as possible, without garbage: they are copied into blocks of memory that are used again. */
export class BlockWriter {
  readonly #sink: Writable;
  readonly #waiting = new Blocks();
  readonly #onRoom: (() => void)[] = [];
  readonly #sender: BlockSender;
  #scheduled = false;
  #onSent: (() => void) | undefined;

  constructor(sink: Writable) {
    this.#sink = sink;
    this.#sender = new BlockSender(sink, this.#waiting, () => this.#settle());
    sink.once("close", () => {
      this.#waiting.clear();
      this.#settle();
    });
  }

  /** The memory of the bytes may be reused after the call. Bytes for a stream that has ended are dropped. */
  write(head: Uint8Array, body?: Uint8Array): void {
    if (this.#sink.destroyed) return;
    this.#waiting.push(head, body?.length);
    if (body !== undefined) this.#waiting.push(body);
    if (this.#sender.isSending || this.#scheduled) return;
    if (this.#waiting.size >= much) this.#sender.send();
    else {
      this.#scheduled = true;
      setImmediate(() => {
        this.#scheduled = false;
        this.#sender.send();
      });
    }
  }

  /** Returns a promise if many bytes wait: it resolves when fewer do, or the stream is closed. */
  room(): Promise<void> | undefined {
    if (!this.isFull) return undefined;
    return new Promise((resolve) => this.#onRoom.push(resolve));
  }

  /** Whether many bytes wait. */
  get isFull(): boolean {
    return this.#waiting.size >= high && !this.#sink.destroyed;
  }

  /** Resolves when all bytes are written, or the stream is closed. */
  sent(): Promise<void> {
    return new Promise((resolve) => {
      this.#onSent = resolve;
      this.#settle();
    });
  }

  #settle(): void {
    const { destroyed } = this.#sink;
    if (destroyed || this.#waiting.size < high / 2) for (const resolve of this.#onRoom.splice(0)) resolve();
    if (destroyed || (!this.#sender.isSending && this.#waiting.size === 0)) this.#onSent?.();
  }
}
