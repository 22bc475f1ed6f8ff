import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../../../contract/errors.ts";
import { type Identity, lives } from "./identity.ts";

/** Time that a holder has to answer a small request, ms. Its event loop answers within milliseconds; a busy machine needs longer. */
export const patienceMs = 8_000;
/** Interval at which it is checked whether the holder of a waiting request must be probed, ms. */
const lookMs = 2_000;

/**
 * Monitors whether a lab's holder answers. After a timeout, all requests fail at once until the holder answers again, so that callers do not wait
 * again and requests do not pile up.
 */
export class Pulse {
  readonly #identity: Identity;
  readonly #probe: (options: { readonly deadlineMs?: number }) => Promise<unknown>;
  /** While the holder is silent: resolves when it answers again or has ended. */
  #silence: Promise<void> | undefined;
  #silentSince = 0;
  #looking: Promise<void> | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;

  /** @param probe a request that the holder answers at once */
  constructor(identity: Identity, probe: (options: { readonly deadlineMs?: number }) => Promise<unknown>) {
    this.#identity = identity;
    this.#probe = probe;
  }

  /** The failure of requests while the holder hangs; undefined while it answers. */
  hanging(): Failure | undefined {
    return this.#silence === undefined ? undefined : this.#refusal();
  }

  /** Resolves when a holder that hangs answers again or has ended. */
  async recovered(): Promise<void> {
    await this.#silence;
  }

  #refuse(): void {
    const failure = this.hanging();
    if (failure !== undefined) throw failure;
  }

  /** A small request under its own deadline. Throws host_timeout, after which the holder counts as hanging. */
  async inTime<T>(ask: () => Promise<T>): Promise<T> {
    this.#refuse();
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== "host_timeout") throw error;
      this.#beSilent();
      throw this.#refusal();
    }
  }

  /** A request that may take any time. The holder is probed until it ends. Throws host_timeout if it hangs. */
  async during<T>(ask: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> {
    this.#refuse();
    const cut = new AbortController();
    const look = () => this.#look().catch((failure: unknown) => cut.abort(failure));
    const timer = setInterval(look, lookMs);
    try {
      return await ask(signal === undefined ? cut.signal : AbortSignal.any([signal, cut.signal]));
    } finally {
      clearInterval(timer);
    }
  }

  /** All waiting requests share one probe. */
  #look(): Promise<void> {
    if (this.#looking === undefined && performance.now() - this.#lookedAt < patienceMs / 2) return Promise.resolve();
    this.#looking ??= this.inTime(() => this.#probe({ deadlineMs: patienceMs }))
      .then(
        () => undefined,
        (error: unknown) => {
          if (error instanceof Failure && error.code === "host_timeout") throw error;
          // A broken connection also ends the waiting requests.
        },
      )
      .finally(() => {
        this.#looking = undefined;
        this.#lookedAt = performance.now();
      });
    return this.#looking;
  }

  #beSilent(): void {
    if (this.#silence !== undefined) return;
    this.#silentSince = Date.now();
    this.#silence = this.#untilAnswer().finally(() => {
      this.#silence = undefined;
    });
  }

  async #untilAnswer(): Promise<void> {
    // If it cannot be checked whether the holder lives, the probe shows it.
    while (await lives(this.#identity).catch(() => true)) {
      try {
        // A connection that the holder has lost would never be answered: the next one may be.
        await this.#probe({ deadlineMs: patienceMs });
        return;
      } catch {
        // It has ended, or accepts no more connections: checked again.
        await delay(500, undefined, { ref: false });
      }
    }
  }

  #refusal(): Failure {
    const { pid } = this.#identity;
    const seconds = Math.round((Date.now() - this.#silentSince + patienceMs) / 1000);
    return new Failure(
      "host_timeout",
      `the lab's holder, process ${pid}, has not answered for ${seconds} s: wait until it does; or destroy the lab; or end it with kill -9 ${pid} ` +
        "(its nodes stop, their disks stay) and start the nodes again",
      { data: { host: { message: "the holder hangs", pid } } },
    );
  }
}
