import { Failure } from "../contract/errors.ts";
import type { Clock } from "./clock.ts";

interface Count {
  failed: number;
  /** No try before this time. */
  until: number;
  last: number;
}

const free = { user: 5, address: 20 } as const;
const longestWait = 60_000;
const forgetAfter = 15 * 60_000;
const mostKept = 10_000;

/**
 * Slows down guessing: after 5 wrong passwords for a user, or 20 from an address, the next try must wait 1 s, then 2, 4 … up to
 * 60 s. A try counts as wrong until it has succeeded, so that many at once do not slip through.
 */
export class LoginThrottle {
  readonly #clock: Clock;
  readonly #counts = new Map<string, Count>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts the try. Throws rate_limited. Answers the function to call when it succeeded. */
  attempt(user: string, address: string): () => void {
    const now = this.#clock.now();
    const keys = [
      { key: `user ${user}`, free: free.user },
      { key: `address ${address}`, free: free.address },
    ];
    const wait = Math.max(...keys.map(({ key }) => (this.#counts.get(key)?.until ?? 0) - now));
    if (wait > 0) {
      throw new Failure("rate_limited", "too many failed logins; try again later", { retryAfter: Math.ceil(wait / 1000) });
    }
    this.#forget(now);
    for (const { key, free } of keys) {
      const count = this.#counts.get(key) ?? { failed: 0, until: 0, last: now };
      count.failed += 1;
      count.last = now;
      if (count.failed >= free) count.until = now + Math.min(longestWait, 1000 * 2 ** (count.failed - free));
      this.#counts.set(key, count);
    }
    return () => {
      this.#counts.delete(keys[0]!.key);
      const ofAddress = this.#counts.get(keys[1]!.key);
      if (ofAddress === undefined) return;
      ofAddress.failed -= 1;
      ofAddress.until = 0;
    };
  }

  #forget(now: number): void {
    if (this.#counts.size < mostKept) return;
    for (const [key, { last }] of this.#counts) if (now - last > forgetAfter) this.#counts.delete(key);
    // Oldest first, as a map keeps them: a flood of invented names must not fill memory.
    for (const key of this.#counts.keys()) {
      if (this.#counts.size < mostKept) break;
      this.#counts.delete(key);
    }
  }
}
