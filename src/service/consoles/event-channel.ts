/** Number of events that wait for the reader before writers have to wait. */
const maxWaiting = 64;

/** Carries events of several writers to one reader. A writer waits while the reader is slow. */
export class EventChannel<T> implements AsyncIterable<T> {
  readonly #events: T[] = [];
  #writers: (() => void)[] = [];
  #reader: (() => void) | undefined;
  #closed = false;

  /** Resolves when more can be written. */
  async put(event: T): Promise<void> {
    this.#events.push(event);
    this.#reader?.();
    if (this.#events.length >= maxWaiting && !this.#closed) await new Promise<void>((resolve) => this.#writers.push(resolve));
  }

  /** Ends the reader after the last event, and the waits of the writers. */
  close(): void {
    this.#closed = true;
    this.#reader?.();
    this.#release();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for (;;) {
      const event = this.#events.shift();
      if (event !== undefined) {
        if (this.#events.length < maxWaiting) this.#release();
        yield event;
      } else if (this.#closed) return;
      else
        await new Promise<void>((resolve) => {
          this.#reader = resolve;
        });
    }
  }

  #release(): void {
    for (const resume of this.#writers.splice(0)) resume();
  }
}
