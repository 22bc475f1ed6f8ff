/** Largest number of batches that begin within a time, ms. */
export interface Pace {
  readonly batches: number;
  readonly withinMs: number;
}

/**
 * Gathers keys and works on all of them at once. A key of a quiet time is worked on immediately; in a busy time, keys wait until the work that runs has ended, and the
 * pace allows another batch. A key that is added while it is worked on is worked on again.
 */
export class PacedBatch<Key> {
  readonly #work: (keys: readonly Key[]) => Promise<void>;
  readonly #failed: (keys: readonly Key[], error: unknown) => void;
  readonly #pace: () => Pace;
  #waiting = new Set<Key>();
  #running: Promise<void> | undefined;
  #pause: NodeJS.Timeout | undefined;
  /** When the newest batches began, the oldest first: as many as the pace counts. */
  #begun: number[] = [];
  #closed = false;

  /**
   * @param failed called with the keys of work that was rejected
   * @param pace asked before each batch
   */
  constructor(
    work: (keys: readonly Key[]) => Promise<void>,
    { pace, failed }: { readonly pace: () => Pace; readonly failed: (keys: readonly Key[], error: unknown) => void },
  ) {
    this.#work = work;
    this.#pace = pace;
    this.#failed = failed;
  }

  add(key: Key): void {
    this.#waiting.add(key);
    this.#begin();
  }

  /** Forgets the keys that wait. Resolves when the work that runs has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#waiting.clear();
    clearTimeout(this.#pause);
    await this.#running;
  }

  #begin(): void {
    if (this.#closed || this.#running !== undefined || this.#pause !== undefined || this.#waiting.size === 0) return;
    const { batches, withinMs } = this.#pace();
    const first = this.#begun.at(-batches);
    const leftMs = first === undefined ? 0 : first + withinMs - performance.now();
    if (leftMs > 0) {
      this.#pause = setTimeout(() => {
        this.#pause = undefined;
        this.#begin();
      }, leftMs);
      return;
    }
    const keys = [...this.#waiting];
    this.#waiting = new Set();
    this.#begun = [...this.#begun.filter((at) => at > performance.now() - withinMs), performance.now()];
    this.#running = this.#work(keys)
      .catch((error: unknown) => this.#failed(keys, error))
      .finally(() => {
        this.#running = undefined;
        this.#begin();
      });
  }
}
