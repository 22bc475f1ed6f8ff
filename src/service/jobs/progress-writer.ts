/**
 * Writes the number of finished steps to the journal. A batch ends hundreds of steps at once: they are written together, in the next microtask. While a
 * write runs, only the newest number waits.
 */
export class ProgressWriter {
  readonly #write: (count: number) => Promise<void>;
  readonly #failed: (error: unknown) => void;
  #next: number | undefined;
  #writing: Promise<void> | undefined;

  constructor(write: (count: number) => Promise<void>, failed: (error: unknown) => void) {
    this.#write = write;
    this.#failed = failed;
  }

  write(count: number): void {
    this.#next = count;
    this.#writing ??= this.#writeAll();
  }

  /** Resolves when no write runs. */
  async written(): Promise<void> {
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    await undefined;
    try {
      while (this.#next !== undefined) {
        const count = this.#next;
        this.#next = undefined;
        await this.#write(count);
      }
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#writing = undefined;
    }
  }
}
