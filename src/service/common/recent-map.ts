/** A map of limited size that keeps the most recently set entries. */
export class RecentMap<V> {
  readonly #limit: number;
  readonly #entries = new Map<string, V>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get(key: string): V | undefined {
    return this.#entries.get(key);
  }

  set(key: string, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size > this.#limit) this.#entries.delete(this.#entries.keys().next().value!);
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  deleteWhere(check: (key: string) => boolean): void {
    for (const key of this.#entries.keys()) if (check(key)) this.#entries.delete(key);
  }
}
