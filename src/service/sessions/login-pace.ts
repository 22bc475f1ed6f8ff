import { Failure } from "../../contract/errors.ts";

interface Waiting {
  readonly spaced: () => boolean;
  readonly start: () => void;
  readonly refuse: (reason: unknown) => void;
}

/** Maximum number of waiting tries. Beyond it, the oldest one is refused. */
const maxWaiting = 256;

/**
 * Runs some tries in parallel; delayed tries one at a time with a pause after each. The newest try goes first: a user who sends one try at a time is
 * served soon, even if another client has many tries waiting.
 */
export class LoginPace {
  readonly #atOnce: number;
  readonly #spacingMs: number;
  #running = 0;
  #pausing = false;
  #waiting: Waiting[] = [];

  constructor(atOnce: number, spacingMs: number) {
    this.#atOnce = atOnce;
    this.#spacingMs = spacingMs;
  }

  /**
   * Runs `work` in its turn. Throws the signal's reason, rate_limited if too many wait, and the errors of `work`.
   * @param spaced returns whether this try must wait after the previous one; called each time that the try could begin
   */
  async run<T>(signal: AbortSignal, spaced: () => boolean, work: () => Promise<T>): Promise<T> {
    await this.#begin(signal, spaced);
    try {
      return await work();
    } finally {
      this.#running -= 1;
      this.#next();
    }
  }

  #begin(signal: AbortSignal, spaced: () => boolean): Promise<void> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting = this.#waiting.filter((other) => other !== entry);
        reject(signal.reason);
      };
      const settle = () => signal.removeEventListener("abort", leave);
      const entry: Waiting = {
        spaced,
        start: () => {
          settle();
          resolve();
        },
        refuse: (reason) => {
          settle();
          reject(reason);
        },
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.push(entry);
      this.#next();
      if (this.#waiting.length > maxWaiting) this.#waiting.shift()?.refuse(tooManyWait());
    });
  }

  #next(): void {
    for (;;) {
      const index = this.#waiting.findLastIndex((entry) => this.#mayBegin(entry));
      const [entry] = index < 0 ? [] : this.#waiting.splice(index, 1);
      if (entry === undefined) return;
      this.#running += 1;
      if (entry.spaced()) this.#pause();
      entry.start();
    }
  }

  #mayBegin({ spaced }: Waiting): boolean {
    return this.#running < this.#atOnce && !(spaced() && this.#pausing);
  }

  #pause(): void {
    this.#pausing = true;
    setTimeout(() => {
      this.#pausing = false;
      this.#next();
    }, this.#spacingMs).unref();
  }
}

function tooManyWait(): Failure {
  return new Failure("rate_limited", "too many logins wait; try again later", { retryAfter: 5 });
}
