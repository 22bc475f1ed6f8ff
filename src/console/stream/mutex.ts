/** A lock in order of arrival; a waiter may give up. */
export class Mutex {
  #held = false;
  readonly #waiting: (() => void)[] = [];

  get held(): boolean {
    return this.#held;
  }

  /** Waits for the lock and returns its release function, or null if the time is over or the signal aborts. */
  async acquire(options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {}): Promise<(() => void) | null> {
    if (!this.#held) {
      this.#held = true;
      return this.#releaser();
    }
    if (options.signal?.aborted === true) return null;
    return new Promise((settle) => {
      const turn = () => {
        stop();
        settle(this.#releaser());
      };
      const giveUp = () => {
        stop();
        const place = this.#waiting.indexOf(turn);
        if (place !== -1) this.#waiting.splice(place, 1);
        settle(null);
      };
      const timer = options.timeoutMs === undefined ? undefined : setTimeout(giveUp, options.timeoutMs);
      const stop = () => {
        clearTimeout(timer);
        options.signal?.removeEventListener("abort", giveUp);
      };
      options.signal?.addEventListener("abort", giveUp, { once: true });
      this.#waiting.push(turn);
    });
  }

  #releaser(): () => void {
    let released = false;
    return () => {
      if (released) return;
      released = true;
      const next = this.#waiting.shift();
      if (next === undefined) this.#held = false;
      else next();
    };
  }
}
