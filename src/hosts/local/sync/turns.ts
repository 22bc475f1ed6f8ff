/** One piece of work of a key at a time, in the order in which they came; those of different keys do not wait for each other. */
export class Turns<Key> {
  readonly #last = new Map<Key, Promise<unknown>>();

  /** The work's result, or its error, which keeps nobody from the next turn. */
  run<T>(key: Key, work: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(key) ?? Promise.resolve()).then(work);
    const quiet = turn.catch(() => undefined);
    this.#last.set(key, quiet);
    void quiet.then(() => {
      if (this.#last.get(key) === quiet) this.#last.delete(key);
    });
    return turn;
  }

  /** Whether work of this key runs or waits. */
  busy(key: Key): boolean {
    return this.#last.has(key);
  }

  /** When the turns that there are now have ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#last.values());
  }
}
