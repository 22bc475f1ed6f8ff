import { Failure } from "../../contract/errors.ts";

export interface JobLimits {
  /** A change that finishes no step within this time is cancelled, ms. */
  readonly stallMs: number;
  /** How long a cancelled change may wait for its current step, ms. */
  readonly graceMs: number;
}

/** Ensures that a change ends, even if its host hangs. */
export class ChangeWatch {
  readonly #abort: AbortController;
  readonly #limits: JobLimits;
  readonly #givenUp: Promise<never>;
  #giveUp: (failure: Failure) => void = () => {};
  #timer: NodeJS.Timeout | undefined;
  over = false;

  constructor(abort: AbortController, limits: JobLimits) {
    this.#abort = abort;
    this.#limits = limits;
    this.#givenUp = new Promise((_resolve, reject) => {
      this.#giveUp = reject;
    });
    abort.signal.addEventListener("abort", () => this.#wait(limits.graceMs, () => this.#giveUp(this.#reason())), { once: true });
    this.progress();
  }

  progress(): void {
    if (!this.#abort.signal.aborted) this.#wait(this.#limits.stallMs, () => this.#abort.abort(stalled(this.#limits.stallMs)));
  }

  /** Throws host_timeout for a stalled change, even if its work fails in another way, and cancelled for work that the cancel aborted. */
  async limit<Result>(work: Promise<Result>): Promise<Result> {
    try {
      return await Promise.race([work, this.#givenUp]);
    } catch (error) {
      const { aborted, reason } = this.#abort.signal;
      if (aborted && error instanceof Error && error.name === "AbortError")
        throw reason instanceof Failure ? reason : new Failure("cancelled", "the change was cancelled", { cause: error });
      if (!(reason instanceof Failure) || error === reason) throw error;
      const data = error instanceof Failure ? error.data : undefined;
      throw new Failure(reason.code, reason.message, { cause: error, ...(data !== undefined && { data }) });
    }
  }

  end(): void {
    this.over = true;
    clearTimeout(this.#timer);
  }

  #wait(ms: number, then: () => void): void {
    clearTimeout(this.#timer);
    if (this.over) return;
    this.#timer = setTimeout(then, ms);
    this.#timer.unref();
  }

  #reason(): Failure {
    const { reason } = this.#abort.signal;
    return reason instanceof Failure ? reason : new Failure("cancelled", "the change was cancelled; its current step did not return");
  }
}

function stalled(ms: number): Failure {
  return new Failure("host_timeout", `the host finished no step for ${Math.round(ms / 1000)} s; the change was ended`);
}
