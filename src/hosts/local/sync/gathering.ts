/** Work on things that come one by one, some at a time: while it works on some, the next gather. */
export class Gathering<T> {
  readonly #work: (some: readonly T[]) => Promise<void>;
  readonly #fewest: number;
  readonly #gathered: T[] = [];
  #running: Promise<void> | undefined;

  /**
   * @param work of a failure `done` tells, and no more is worked on
   * @param fewest fewer than these are not begun with before `done`
   */
  constructor(work: (some: readonly T[]) => Promise<void>, fewest = 1) {
    this.#work = work;
    this.#fewest = fewest;
  }

  add(some: readonly T[]): void {
    this.#gathered.push(...some);
    if (this.#gathered.length >= this.#fewest) this.#begin(this.#fewest);
  }

  /** When nothing is left. Throws what `work` threw. */
  async done(): Promise<void> {
    for (; this.#gathered.length > 0; await this.#running) this.#begin(1);
    await this.#running;
  }

  #begin(fewest: number): void {
    if (this.#running !== undefined) return;
    const running = this.#run(fewest);
    this.#running = running;
    // Whoever waits for the end is told; it may not have come to that yet.
    running.catch(() => undefined);
  }

  async #run(fewest: number): Promise<void> {
    do await this.#work(this.#gathered.splice(0));
    while (this.#gathered.length >= fewest);
    this.#running = undefined;
  }
}
