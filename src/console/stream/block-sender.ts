import type { Writable } from "node:stream";
import { Blocks } from "./blocks.ts";

/** Writes waiting bytes to a stream, one block at a time: bytes that arrive meanwhile are in the next write. */
export class BlockSender {
  readonly #sink: Writable;
  readonly #waiting: Blocks;
  readonly #onSent: () => void;
  #isSending = false;

  /** @param onSent called after each block */
  constructor(sink: Writable, waiting: Blocks, onSent: () => void) {
    this.#sink = sink;
    this.#waiting = waiting;
    this.#onSent = onSent;
  }

  /** Whether a block is being written. */
  get isSending(): boolean {
    return this.#isSending;
  }

  /** Writes what waits, unless a block is being written: the rest follows it. */
  send(): void {
    if (this.#isSending || this.#sink.destroyed) return;
    const bytes = this.#waiting.shift();
    if (bytes === undefined) return;
    this.#isSending = true;
    this.#sink.write(bytes, () => {
      this.#isSending = false;
      Blocks.giveBack(bytes);
      this.#onSent();
      this.send();
    });
  }
}
