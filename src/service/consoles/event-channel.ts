/** Number of events that wait for the reader before writers have to wait. */
const maxWaiting = 64;
/** Total size of these events, bytes. */
const maxBytes = 128 << 10;

interface Waiting<T> {
  readonly event: T;
  readonly bytes: number;
}

/** Carries events of several writers to one reader. A writer waits while the reader is slow. */
export class EventChannel<T> implements AsyncIterable<T> {
  readonly #events: Waiting<T>[] = [];
  #bytes = 0;
  #writers: (() => void)[] = [];
  #reader: (() => void) | undefined;
  #closed = false;

  /**
   * Resolves when more can be written.
   * @param bytes the size of the event
   */
  async put(event: T, bytes = 0): Promise<void> {
    this.#events.push({ event, bytes });
    this.#bytes += bytes;
    this.#reader?.();
    if (this.#isFull && !this.#closed) await new Promise<void>((resolve) => this.#writers.push(resolve));
  }

  /** Ends the reader after the last event, and the waits of the writers. */
  close(): void {
    this.#closed = true;
    this.#reader?.();
    this.#release();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for (;;) {
      const first = this.#events.shift();
      if (first !== undefined) {
        this.#bytes -= first.bytes;
        if (!this.#isFull) this.#release();
        yield first.event;
      } else if (this.#closed) return;
      else
        await new Promise<void>((resolve) => {
          this.#reader = resolve;
        });
    }
  }

  get #isFull(): boolean {
    return this.#events.length >= maxWaiting || this.#bytes >= maxBytes;
  }

  #release(): void {
    for (const resume of this.#writers.splice(0)) resume();
  }
}
