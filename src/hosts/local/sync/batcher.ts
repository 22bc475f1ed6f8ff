/** Does work on items in batches: items that arrive while a batch is worked on form the next batch. */
export class Batcher<T> {
  readonly #work: (batch: readonly T[]) => Promise<void>;
  readonly #minSize: number;
  readonly #waiting: T[] = [];
  #running: Promise<void> | undefined;

  /**
   * @param work after its first failure no further batch is started, and `done` throws the failure
   * @param minSize smaller batches wait for `done`
   */
  constructor(work: (batch: readonly T[]) => Promise<void>, minSize = 1) {
    this.#work = work;
    this.#minSize = minSize;
  }

  add(items: readonly T[]): void {
    this.#waiting.push(...items);
    if (this.#waiting.length >= this.#minSize) this.#begin(this.#minSize);
  }

  /** Resolves when no item is left. Throws what `work` threw. */
  async done(): Promise<void> {
    for (; this.#waiting.length > 0; await this.#running) this.#begin(1);
    await this.#running;
  }

  #begin(minSize: number): void {
    if (this.#running !== undefined) return;
    const running = this.#run(minSize);
    this.#running = running;
    // `done` reports the failure; it may not have been called yet.
    running.catch(() => undefined);
  }

  async #run(minSize: number): Promise<void> {
    do await this.#work(this.#waiting.splice(0));
    while (this.#waiting.length >= minSize);
    this.#running = undefined;
  }
}
