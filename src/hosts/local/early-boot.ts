/** Lets nodes boot as soon as they may, some at a time: while some are let go, the next gather. */
export class EarlyBoot {
  readonly #boot: (ids: readonly number[]) => Promise<void>;
  readonly #ready: number[] = [];
  #work: Promise<void> | undefined;

  /** @param boot lets these boot; of a failure `done` tells, and no more are let go */
  constructor(boot: (ids: readonly number[]) => Promise<void>) {
    this.#boot = boot;
  }

  add(ids: readonly number[]): void {
    if (ids.length === 0) return;
    this.#ready.push(...ids);
    this.#work ??= this.#run();
    // Whoever waits for the end is told; it may not have come to that yet.
    this.#work.catch(() => undefined);
  }

  /** When none is on its way. Throws what `boot` threw. */
  async done(): Promise<void> {
    await this.#work;
  }

  async #run(): Promise<void> {
    for (let some = this.#ready.splice(0); some.length > 0; some = this.#ready.splice(0)) await this.#boot(some);
    this.#work = undefined;
  }
}
