/** Work by key, one after another; work with other keys is not waited for. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(key) ?? Promise.resolve()).then(work);
    const quiet = turn.catch(() => undefined);
    this.#last.set(key, quiet);
    try {
      return await turn;
    } finally {
      if (this.#last.get(key) === quiet) this.#last.delete(key);
    }
  }
}
