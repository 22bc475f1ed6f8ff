/** Runs work one after the other, in the order of the calls. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();
  #length = 0;

  /** Returns the result of the work, or throws its error. A failure does not stop the work behind it. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    // Only for the order: the caller of this function gets the error from `result`.
    this.#last = result.catch(() => undefined);
    this.#length++;
    try {
      return await result;
    } finally {
      this.#length--;
    }
  }

  /** Number of pieces of work that run or wait. */
  get length(): number {
    return this.#length;
  }

  /** Waits for the work that runs or waits now. */
  async idle(): Promise<void> {
    await this.#last;
  }
}

/** Runs the work of each key one after the other, in the order of the calls. Work with different keys runs at the same time. */
export class KeyedQueue<Key = string> {
  readonly #queues = new Map<Key, SerialQueue>();

  /** Returns the result of the work, or throws its error. A failure does not stop the work behind it. */
  async run<T>(key: Key, work: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(key) ?? new SerialQueue();
    this.#queues.set(key, queue);
    try {
      return await queue.run(work);
    } finally {
      if (queue.length === 0 && this.#queues.get(key) === queue) this.#queues.delete(key);
    }
  }

  /** Returns whether work of this key runs or waits. */
  isBusy(key: Key): boolean {
    return this.#queues.has(key);
  }

  /** Waits for the work that runs or waits now: of this key, or of all keys. */
  async idle(key?: Key): Promise<void> {
    const queues = key === undefined ? [...this.#queues.values()] : [this.#queues.get(key)];
    await Promise.all(queues.map((queue) => queue?.idle()));
  }
}
