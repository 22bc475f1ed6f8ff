import { UsageError } from "../command/usage-error.ts";

/** Ends a copy if its node neither sends nor takes a byte for a time. The time of this machine's own work does not count. */
export class IdleLimit implements Disposable {
  readonly #ms: number;
  readonly #copy: string;
  readonly #timer: NodeJS.Timeout;
  /** Undefined while nothing is expected of the node. */
  #since: number | undefined;
  #isOver = false;

  /** @param copy its path in the node, for messages @param end ends the copy */
  constructor(ms: number, copy: string, end: () => void) {
    this.#ms = ms;
    this.#copy = copy;
    this.#timer = setInterval(
      () => {
        if (this.#since === undefined || performance.now() - this.#since < ms) return;
        this.#isOver = true;
        end();
      },
      Math.min(1_000, ms),
    );
    this.#timer.unref();
  }

  /** Waits for the node. Throws if it takes too long. */
  async of<T>(work: Promise<T>): Promise<T> {
    this.#since = performance.now();
    try {
      const result = await work;
      this.check();
      return result;
    } catch (error) {
      this.check();
      throw error;
    } finally {
      this.#since = undefined;
    }
  }

  /** Throws if the time is over. */
  check(): void {
    if (!this.#isOver) return;
    throw new UsageError(
      `${this.#copy}: tar in the node did nothing for ${this.#ms / 1_000} s, so the copy was ended`,
      "labwright status shows whether the node is suspended; --idle-timeout SECONDS waits longer",
    );
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
