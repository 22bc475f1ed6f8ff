interface Waiter {
  readonly user: string;
  readonly enter: () => void;
}

/**
 * A bounded number of places for work of many users. No user has more than a part of them, and a place that becomes free goes to the waiting user who has
 * fewest, among equals to the one who was served longest ago: one user's work delays another's only while more users work than there are places for.
 */
export class FairPlaces {
  readonly #most: number;
  readonly #mostOfUser: number;
  readonly #held = new Map<string, number>();
  readonly #waiting: Waiter[] = [];
  /** User → the number of its last turn. */
  readonly #turns = new Map<string, number>();
  #turn = 0;
  #taken = 0;

  constructor(most: number, mostOfUser = Math.ceil(most / 2)) {
    this.#most = most;
    this.#mostOfUser = mostOfUser;
  }

  /** Resolves when the user has a place. Each needs its free(). */
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

  /** Runs the work in a place of the user's. */
  async run<T>(user: string, work: () => Promise<T>): Promise<T> {
    await this.take(user);
    try {
      return await work();
    } finally {
      this.free(user);
    }
  }

  /** Whether the user can have a place only if one that somebody has becomes free. */
  isFullFor(user: string): boolean {
    return this.#taken >= this.#most || this.hasAllOf(user);
  }

  /** Whether the user has as many places as one user may have. */
  hasAllOf(user: string): boolean {
    return this.#of(user) >= this.#mostOfUser;
  }

  /** Whether somebody waits for whom a place of this user would do. */
  isWantedOf(user: string): boolean {
    return this.#waiting.some((waiter) => waiter.user === user || !this.hasAllOf(waiter.user));
  }

  /** Lets everybody in: whoever waits is to see by itself that nothing is left to do. */
  open(): void {
    for (const { user, enter } of this.#waiting.splice(0)) this.#enter(user, enter);
  }

  #of(user: string): number {
    return this.#held.get(user) ?? 0;
  }

  #serve(): void {
    while (this.#taken < this.#most) {
      const may = this.#waiting.filter(({ user }) => !this.hasAllOf(user));
      const [first] = may.sort((a, b) => this.#of(a.user) - this.#of(b.user) || this.#lastTurn(a.user) - this.#lastTurn(b.user));
      if (first === undefined) return;
      this.#waiting.splice(this.#waiting.indexOf(first), 1);
      this.#enter(first.user, first.enter);
    }
  }

  #lastTurn(user: string): number {
    return this.#turns.get(user) ?? 0;
  }

  #enter(user: string, enter: () => void): void {
    this.#held.set(user, this.#of(user) + 1);
    this.#taken += 1;
    this.#turns.set(user, ++this.#turn);
    enter();
  }
}
