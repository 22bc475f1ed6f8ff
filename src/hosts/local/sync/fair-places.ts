interface Waiter {
  readonly user: string;
  readonly enter: () => void;
}

/**
 * A limited number of places for work of many users. Each user can have only a part of the places. A free place goes to the waiting user with the fewest places,
 * and among equals to the user who got a place longest ago. So a user waits for others only if more users work than there are places.
 */
export class FairPlaces {
  readonly #max: number;
  readonly #maxPerUser: number;
  readonly #held = new Map<string, number>();
  readonly #waiting: Waiter[] = [];
  /** User → number of the last entry. */
  readonly #lastEntries = new Map<string, number>();
  #entries = 0;
  #taken = 0;

  constructor(max: number, maxPerUser = Math.ceil(max / 2)) {
    this.#max = max;
    this.#maxPerUser = maxPerUser;
  }

  /** Resolves when the user has a place. Each call needs a call of free(). */
  take(user: string): Promise<void> {
    return new Promise((enter) => {
      this.#waiting.push({ user, enter });
      this.#serve();
    });
  }

  free(user: string): void {
    const left = this.#of(user) - 1;
    if (left === 0) this.#held.delete(user);
    else this.#held.set(user, left);
    this.#taken -= 1;
    this.#serve();
  }

  /** Runs the work in a place of the user. */
  async run<T>(user: string, work: () => Promise<T>): Promise<T> {
    await this.take(user);
    try {
      return await work();
    } finally {
      this.free(user);
    }
  }

  /** Returns whether the user would have to wait for a place. */
  isFullFor(user: string): boolean {
    return this.#taken >= this.#max || this.hasAllOf(user);
  }

  /** Returns whether the user has the maximum number of places per user. */
  hasAllOf(user: string): boolean {
    return this.#of(user) >= this.#maxPerUser;
  }

  /** Returns whether a waiting user could get a place that this user frees. */
  isWantedOf(user: string): boolean {
    return this.#waiting.some((waiter) => waiter.user === user || !this.hasAllOf(waiter.user));
  }

  /** Gives all waiting users a place, for the end of the program: their work must check by itself that it is not needed any more. */
  open(): void {
    for (const { user, enter } of this.#waiting.splice(0)) this.#enter(user, enter);
  }

  #of(user: string): number {
    return this.#held.get(user) ?? 0;
  }

  #serve(): void {
    while (this.#taken < this.#max) {
      const allowed = this.#waiting.filter(({ user }) => !this.hasAllOf(user));
      const [first] = allowed.sort((a, b) => this.#of(a.user) - this.#of(b.user) || this.#lastEntry(a.user) - this.#lastEntry(b.user));
      if (first === undefined) return;
      this.#waiting.splice(this.#waiting.indexOf(first), 1);
      this.#enter(first.user, first.enter);
    }
  }

  #lastEntry(user: string): number {
    return this.#lastEntries.get(user) ?? 0;
  }

  #enter(user: string, enter: () => void): void {
    this.#held.set(user, this.#of(user) + 1);
    this.#taken += 1;
    this.#lastEntries.set(user, ++this.#entries);
    enter();
  }
}
