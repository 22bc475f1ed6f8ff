import { Failure } from "../../contract/errors.ts";

/** Maximum number of running calls of one user. Further calls are refused. */
const maxCalls = 64;
/** Maximum number of running programs of one user. Further programs of running calls wait. */
const maxPrograms = 512;

interface Places {
  calls: number;
  programs: number;
  readonly waiting: (() => void)[];
}

/** Limits the programs that each user runs in nodes at the same time. */
export class ExecPlaces {
  readonly #users = new Map<string, Places>();

  /** Enters a call. Returns a function that ends it. Throws rate_limited. */
  enterCall(user: string): () => void {
    const places = this.#of(user);
    if (places.calls >= maxCalls)
      throw new Failure("rate_limited", `${maxCalls} calls of ${user} run programs in nodes: wait until one of them has ended`, {
        retryAfter: 1,
      });
    places.calls += 1;
    return () => {
      places.calls -= 1;
      this.#forget(user, places);
    };
  }

  /** Resolves when the user may run one more program, with a function that frees its place. */
  async enterProgram(user: string): Promise<() => void> {
    const places = this.#of(user);
    if (places.programs >= maxPrograms) await new Promise<void>((resolve) => places.waiting.push(resolve));
    else places.programs += 1;
    return () => {
      const next = places.waiting.shift();
      // The place goes to the next program.
      if (next !== undefined) return next();
      places.programs -= 1;
      this.#forget(user, places);
    };
  }

  #of(user: string): Places {
    const known = this.#users.get(user) ?? { calls: 0, programs: 0, waiting: [] };
    this.#users.set(user, known);
    return known;
  }

  #forget(user: string, { calls, programs }: Places): void {
    if (calls === 0 && programs === 0) this.#users.delete(user);
  }
}
